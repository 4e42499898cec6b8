#include "scheduler/objects/host_ports.h"

#include <errno.h>

#include "tests/unit/scheduler/verdicts.h"

#define PORT(port, more) "{'hostPort':" port more "}"
#define TAKES(ports) "{'containers':[{'ports':[" ports "]}]}"

/* Do these two specs go on one node? */
static const struct {
	const char *a, *b;
	bool conflict;
} cases[] = {
	{ TAKES(PORT("80", "")), TAKES(PORT("80", "")), true },
	{ TAKES(PORT("80", "")), TAKES(PORT("81", "")), false },
	{ TAKES(PORT("80", "")), TAKES(PORT("80", ",'protocol':'UDP'")),
		false },
	{ TAKES(PORT("80", "")), TAKES(PORT("80", ",'protocol':'TCP'")), true },
	{ TAKES(PORT("80", ",'hostIP':'127.0.0.1'")), TAKES(PORT("80", "")),
		true },
	{ TAKES(PORT("80", "")), TAKES(PORT("80", ",'hostIP':'127.0.0.1'")),
		true },
	{ TAKES(PORT("80", ",'hostIP':'127.0.0.1'")),
		TAKES(PORT("80", ",'hostIP':'127.0.0.2'")), false },
	{ TAKES(PORT("80", ",'hostIP':'127.0.0.1'")),
		TAKES(PORT("80", ",'hostIP':'127.0.0.1'")), true },
	{ TAKES(PORT("80", ",'hostIP':'0.0.0.0'")),
		TAKES(PORT("80", ",'hostIP':'10.0.0.1'")), true },
	/* "::" is one address among others. */
	{ TAKES(PORT("80", ",'hostIP':'::'")),
		TAKES(PORT("80", ",'hostIP':'10.0.0.1'")), false },
	{ TAKES(PORT("80", ",'hostIP':'::'")), TAKES(PORT("80", "")), true },
	{ TAKES(PORT("81", "") "," PORT("80", "")), TAKES(PORT("80", "")),
		true },
	{ TAKES("{'containerPort':80}"), TAKES(PORT("80", "")), false },
	{ TAKES(PORT("0", "")), TAKES(PORT("0", "")), false },
	{ "{'initContainers':[{'restartPolicy':'Always','ports':[{"
	  "'hostPort':80}]}]}",
		TAKES(PORT("80", "")), true },
	{ "{'initContainers':[{'ports':[{'hostPort':80}]}]}",
		TAKES(PORT("80", "")), false },
};

static struct host_ports ports_of(struct names *names, const char *json)
{
	struct value *spec = given_json(json);
	struct host_ports ports;

	assert_int_equal(host_ports_read(&ports, names, spec, NULL), 0);
	value_free(spec);
	return ports;
}

static void conflicts_as_upstream(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct names *names = names_new();
		struct host_ports a = ports_of(names, cases[i].a);
		struct host_ports b = ports_of(names, cases[i].b);

		given_check(host_ports_conflict(&a, &b) == cases[i].conflict,
			cases[i].a);
		host_ports_fini(&a, names);
		host_ports_fini(&b, names);
		names_free(names);
	}
}

static void a_taken_port_rejects_before_a_lack_of_cpu(void **state)
{
	(void)state;
	verdicts_check(
		"{'pod':{'metadata':{'name':'p'},'spec':{'containers':[{"
		"'ports':[{'hostPort':80}],'resources':{'requests':{"
		"'cpu':'17'}}}]}},'nodes':[" VERDICTS_NODE("a",
			"") "," VERDICTS_NODE("b",
			"") "],'pods':[{'metadata':{'name':'q'},'spec':{"
			    "'nodeName':'a','containers':[{'ports':[{"
			    "'hostPort':80}]}]}}]}",
		"a: node(s) didn't have free ports for the requested pod "
		"ports; b: Insufficient cpu");
}

static void limits_how_many_it_reads(void **state)
{
	struct names *names = names_new();
	struct host_ports ports = { 0 };
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 20);
	struct value *spec;
	struct error err;

	(void)state;
	buffer_text(&text, "{'containers':[{'ports':[{'hostPort':1}");
	for (int i = 0; i < PORTS_MAX; i++) {
		buffer_text(&text, ",{'hostPort':1}");
	}
	buffer_text(&text, "]}]}");
	spec = given_json(text.data);
	assert_int_equal(host_ports_read(&ports, names, spec, &err), -E2BIG);
	assert_int_equal(ports.count, 0);
	value_free(spec);
	names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conflicts_as_upstream),
		cmocka_unit_test(a_taken_port_rejects_before_a_lack_of_cpu),
		cmocka_unit_test(limits_how_many_it_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
