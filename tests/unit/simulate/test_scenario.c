#include "simulate/scenario.h"

#include <errno.h>
#include <math.h>

#include "tests/unit/scheduler/given.h"

#define NODES                                                                  \
	"'nodes':[{'name':'a','cpu_cores':4,'memory_bytes':8000,'pods':9}]"
#define VM(arrive, leave, percents)                                            \
	"{'name':'v','namespace':'n','vcpus':2,'memory_bytes':100,"            \
	"'cpu_request_millicores':200,'arrive_step':" arrive                   \
	",'leave_step':" leave ",'cpu_percent':[" percents "]}"

static int parse(struct scenario *out, const char *text, struct error *err)
{
	scoped_free char *json = given_quotes(text);

	return scenario_parse(out, json, strlen(json), err);
}

static void reads_nodes_and_vms(void **state)
{
	struct scenario s;

	(void)state;
	assert_int_equal(parse(&s,
				 "{'step_s':300,'steps':2," NODES
				 ",'vms':[" VM("0", "2", "50,100") "]}",
				 NULL),
		0);
	assert_int_equal(s.steps, 2);
	assert_int_equal(s.node_count, 1);
	assert_string_equal(s.nodes[0].name, "a");
	assert_true(s.nodes[0].memory_bytes == 8000);
	assert_int_equal(s.vm_count, 1);
	assert_true(s.vms[0].cpu_request_milli == 200);
	assert_true(fabs(scenario_demand(&s.vms[0], 0) - 1) < 1e-9);
	assert_true(fabs(scenario_demand(&s.vms[0], 1) - 2) < 1e-9);
	scenario_fini(&s);
}

static void names_the_error_and_its_place(void **state)
{
	static const struct {
		const char *text, *error;
		int code;
	} cases[] = {
		{ "{}", "'step_s' is not a number", -EBADMSG },
		{ "{'step_s':0}",
			"'step_s' is 0, not between 1 and "
			"86400",
			-ERANGE },
		{ "{'step_s':300,'steps':1.5}", "'steps' is not a whole number",
			-EBADMSG },
		{ "{'step_s':300,'steps':0}", "'steps' is 0", -ERANGE },
		{ "{'step_s':300,'steps':1}", "'nodes' is not a list",
			-EBADMSG },
		{ "{'step_s':300,'steps':1,'nodes':[{'name':'a','cpu_cores':0}"
		  "]}",
			"node 1: 'cpu_cores' is 0, not between 0.001 "
			"and 1e+06",
			-ERANGE },
		{ "{'step_s':300,'steps':1,'nodes':[{}]}",
			"node 1: 'name' is not a name of 1 to 253 bytes",
			-EBADMSG },
		{ "{'step_s':300,'steps':1,'nodes':[{'name':'a\xff'}]}",
			"node 1: 'name' is not UTF-8", -EBADMSG },
		{ "{'step_s':300,'steps':1," NODES "}", "'vms' is not a list",
			-EBADMSG },
		{ "{'step_s':300,'steps':2," NODES
		  ",'vms':[" VM("0", "2", "50") "]}",
			"VM 1: 'cpu_percent' holds 1 of 2 steps", -EBADMSG },
		{ "{'step_s':300,'steps':1," NODES
		  ",'vms':[" VM("0", "1", "-1") "]}",
			"VM 1: 'cpu_percent' holds an invalid percentage",
			-EBADMSG },
		{ "{'step_s':300,'steps':1," NODES
		  ",'vms':[" VM("0", "1", "1],'memory_percent':[1,2") "]}",
			"VM 1: 'memory_percent' holds more than 1", -E2BIG },
		{ "{'step_s':300,'steps':1," NODES
		  ",'vms':[" VM("0", "1", "1],'memory_percent':[-1") "]}",
			"VM 1: 'memory_percent' holds an invalid percentage",
			-EBADMSG },
		{ "{'step_s':300,'steps':1," NODES
		  ",'vms':[" VM("0", "2", "1") "]}",
			"VM 1: 'leave_step' is 2, not between 0 and 1",
			-ERANGE },
		{ "{'step_s':300,'steps':1," NODES
		  ",'vms':[" VM("1", "1", "1") "," VM("0", "1", "1") "]}",
			"VM 2: arrives before the VM listed before it",
			-EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct scenario s;
		struct error err;

		assert_int_equal(parse(&s, cases[i].text, &err), cases[i].code);
		assert_string_equal(err.text, cases[i].error);
	}
}

#define ANNOUNCING(text)                                                       \
	"{'step_s':300,'steps':1," NODES                                       \
	",'vms':[{'name':'v','namespace':'n','vcpus':2,'memory_bytes':1,"      \
	"'cpu_request_millicores':1,'arrive_step':0,'leave_step':1,"           \
	"'expected_cores':'" text "','cpu_percent':[1]}]}"

static void keeps_an_announcement_and_refuses_an_invalid_one(void **state)
{
	struct scenario s;
	struct error err;

	(void)state;
	assert_int_equal(parse(&s, ANNOUNCING("1 from 01:00 to 02:00"), &err),
		0);
	assert_string_equal(s.vms[0].expected_cores, "1 from 01:00 to 02:00");
	scenario_fini(&s);
	assert_int_equal(parse(&s, ANNOUNCING("all"), &err), -EINVAL);
	assert_string_equal(err.text,
		"VM 1: 'expected_cores': a number of cores above 0 is expected "
		"at 'all'");
}

#define LABELLED(labels)                                                       \
	"{'step_s':300,'steps':1," NODES                                       \
	",'vms':[{'name':'v','namespace':'n','vcpus':2,'memory_bytes':1,"      \
	"'cpu_request_millicores':1,'arrive_step':0,'leave_step':1,"           \
	"'labels':" labels ",'cpu_percent':[1]}]}"

static void keeps_labels_and_refuses_what_cannot_be_one(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ LABELLED("[]"),
			"VM 1: 'labels' is not an object of at most 16 "
			"labels" },
		{ LABELLED("{'a b':'x'}"), "VM 1: 'a b' cannot be a label" },
		{ LABELLED("{'kubevirt.io':'x'}"),
			"VM 1: 'kubevirt.io' cannot be a label" },
		{ LABELLED("{'app':7}"),
			"VM 1: label 'app' has an invalid value" },
		{ LABELLED("{'app':'x','b':'a b'}"),
			"VM 1: label 'b' has an invalid value" },
	};
	struct scenario s;
	struct error err;

	(void)state;
	assert_int_equal(parse(&s, LABELLED("{'app':'x','b/c':''}"), &err), 0);
	assert_int_equal(s.vms[0].label_count, 2);
	assert_string_equal(s.vms[0].labels[0].key, "app");
	assert_string_equal(s.vms[0].labels[0].value, "x");
	assert_string_equal(s.vms[0].labels[1].value, "");
	scenario_fini(&s);
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(parse(&s, cases[i].text, &err), -EBADMSG);
		assert_string_equal(err.text, cases[i].error);
	}
}

static void refuses_two_nodes_of_one_name(void **state)
{
	struct scenario s;
	struct error err;

	(void)state;
	assert_int_equal(parse(&s,
				 "{'step_s':300,'steps':1,'nodes':["
				 "{'name':'a','cpu_cores':4,'memory_bytes':1,"
				 "'pods':9},{'name':'a','cpu_cores':4,"
				 "'memory_bytes':1,'pods':9}],'vms':[]}",
				 &err),
		-EBADMSG);
	assert_string_equal(err.text, "node 'a' appears twice");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_nodes_and_vms),
		cmocka_unit_test(names_the_error_and_its_place),
		cmocka_unit_test(
			keeps_an_announcement_and_refuses_an_invalid_one),
		cmocka_unit_test(keeps_labels_and_refuses_what_cannot_be_one),
		cmocka_unit_test(refuses_two_nodes_of_one_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
