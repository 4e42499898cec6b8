#include "scheduler/objects/host_ports.h"

#include <errno.h>

#include "tests/unit/scheduler/verdicts.h"

#define PORT(port, more) "{'hostPort':" port more "}"
#define TAKES(ports) "{'containers':[{'ports':[" ports "]}]}"

/* Can one node run both specs? */
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
	/* "::" has no special meaning. */
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

static struct host_ports ports_of(struct interner *interner, const char *json)
{
	struct json_value *spec = given_json(json);
	struct host_ports ports;

	assert_int_equal(host_ports_read(&ports, interner, spec, NULL), 0);
	json_value_free(spec);
	return ports;
}

static void conflicts_like_upstream(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct interner *interner = interner_new();
		struct host_ports a = ports_of(interner, cases[i].a);
		struct host_ports b = ports_of(interner, cases[i].b);

		given_check(host_ports_conflict(&a, &b) == cases[i].conflict,
			cases[i].a);
		host_ports_fini(&a, interner);
		host_ports_fini(&b, interner);
		interner_free(interner);
	}
}

static void a_port_conflict_rejects_before_insufficient_cpu(void **state)
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

static void limits_the_number_of_ports(void **state)
{
	struct interner *interner = interner_new();
	struct host_ports ports = { 0 };
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 20);
	struct json_value *spec;
	struct error err;

	(void)state;
	buffer_text(&text, "{'containers':[{'ports':[{'hostPort':1}");
	for (int i = 0; i < HOST_PORTS_MAX; i++) {
		buffer_text(&text, ",{'hostPort':1}");
	}
	buffer_text(&text, "]}]}");
	spec = given_json(text.data);
	assert_int_equal(host_ports_read(&ports, interner, spec, &err), -E2BIG);
	assert_int_equal(ports.count, 0);
	json_value_free(spec);
	interner_free(interner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conflicts_like_upstream),
		cmocka_unit_test(
			a_port_conflict_rejects_before_insufficient_cpu),
		cmocka_unit_test(limits_the_number_of_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
