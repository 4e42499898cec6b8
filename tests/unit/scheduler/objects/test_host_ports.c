#include "scheduler/objects/host_ports.h"

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

	host_ports_read(&ports, interner, spec);
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

/* Ports 1 to count at this address. */
static struct host_ports many_ports(struct interner *interner, int first,
	int count, const char *address)
{
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 20);

	buffer_text(&text, "{'containers':[{'ports':[{'containerPort':1}");
	for (int i = first; i < first + count; i++) {
		buffer_printf(&text, ",{'hostPort':%d,'hostIP':'%s'}", i,
			address);
	}
	buffer_text(&text, "]}]}");
	return ports_of(interner, text.data);
}

static void finds_the_one_conflict_among_thousands_of_ports(void **state)
{
	struct interner *interner = interner_new();
	struct host_ports many = many_ports(interner, 1, 5000, "10.0.0.1");
	struct host_ports last = many_ports(interner, 5000, 5000, "10.0.0.1");
	struct host_ports next = many_ports(interner, 5001, 5000, "10.0.0.1");
	struct host_ports other = many_ports(interner, 1, 5000, "10.0.0.2");
	struct host_ports any = many_ports(interner, 5000, 1, "0.0.0.0");

	(void)state;
	assert_int_equal(many.count, 5000);
	assert_true(host_ports_conflict(&many, &last));
	assert_false(host_ports_conflict(&many, &next));
	assert_false(host_ports_conflict(&many, &other));
	assert_true(host_ports_conflict(&many, &any));
	assert_true(host_ports_conflict(&any, &other));
	host_ports_fini(&many, interner);
	host_ports_fini(&last, interner);
	host_ports_fini(&next, interner);
	host_ports_fini(&other, interner);
	host_ports_fini(&any, interner);
	interner_free(interner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conflicts_like_upstream),
		cmocka_unit_test(
			a_port_conflict_rejects_before_insufficient_cpu),
		cmocka_unit_test(
			finds_the_one_conflict_among_thousands_of_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
