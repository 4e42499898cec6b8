#include "simulate/scenario_import.h"

#include <errno.h>
#include <math.h>

#include "tests/unit/scheduler/given.h"

#define NODE(name, pods)                                                       \
	"{'kind':'Node','metadata':{'name':'" name                             \
	"'},'status':{'allocatable':{'cpu':'3500m','memory':'8Gi','pods':"     \
	"'" pods "'}}}"
#define POD(uid, vm, cpu)                                                      \
	"{'kind':'Pod','metadata':{'name':'virt-launcher-" vm                  \
	"','namespace':'n','uid':'" uid                                        \
	"','labels':{'kubevirt.io':'virt-launcher'},"                          \
	"'annotations':{'kubevirt.io/domain':'" vm                             \
	"'}},'spec':{'containers':[{'name':'compute','resources':{'requests':" \
	"{"                                                                    \
	"'cpu':'" cpu "','memory':'1Gi'}}}]}}"
#define OBJECTS                                                                \
	"{'items':[" NODE("a", "110") "," POD("u1", "web", "400m") "," POD(    \
		"u2", "db", "200m") ",{'kind':'Pod','metadata':{'name':"       \
				    "'other','namespace':'n','uid':'u3'}}]}"
#define TIME "'from':0,'step_s':60,'steps':3,"
#define NODES "'nodes':[{'name':'a','cpu_cores':4,'memory_bytes':9}],"
#define STAY(who, arrive, leave, used)                                         \
	"{" who ",'arrive_step':" arrive ",'leave_step':" leave                \
	",'used_cores':[" used "]}"
#define WEB "'namespace':'n','name':'web','pod_uids':['gone']"

static int parse(struct scenario *out, struct scenario_import_gaps *gaps,
	const char *record, const char *objects, struct error *err)
{
	scoped_free char *first = given_quotes(record);
	scoped_free char *second = given_quotes(objects);
	const struct scenario_import_text text = { first, second, strlen(first),
		strlen(second) };

	return scenario_import_parse(out, gaps, &text, err);
}

static void assert_near(double is, double wanted)
{
	assert_true(fabs(is - wanted) < 1e-6);
}

static void combines_usage_and_sizes(void **state)
{
	struct scenario s;
	struct scenario_import_gaps g;
	scoped_buffer struct buffer text = BUFFER_MAX(1000);

	(void)state;
	/* One VM is found by its name, the other by its pod. */
	assert_int_equal(
		parse(&s, &g,
			"{" TIME NODES
			"'vms':[" STAY(WEB, "0", "3", "1,2,3") "," STAY(
				"'pod_uids':['x','u2']", "1", "2", "0.5") "]}",
			OBJECTS, NULL),
		0);
	assert_int_equal(s.node_count, 1);
	assert_near(s.nodes[0].cpu_cores, 4);
	assert_true(s.nodes[0].memory_bytes == INT64_C(8) << 30);
	assert_true(s.nodes[0].pods == 110);
	assert_int_equal(s.vm_count, 2);
	assert_string_equal(s.vms[0].name, "web");
	assert_near(s.vms[0].vcpus, 4);
	assert_true(s.vms[0].cpu_request_milli == 400);
	assert_true(s.vms[0].memory_bytes == INT64_C(1) << 30);
	assert_near(scenario_demand(&s.vms[0], 2), 3);
	assert_string_equal(s.vms[1].namespace, "n");
	assert_string_equal(s.vms[1].name, "db");
	assert_int_equal(s.vms[1].arrive_step, 1);
	assert_int_equal(s.vms[1].leave_step, 2);
	assert_near(scenario_demand(&s.vms[1], 1), 0.5);
	scenario_import_explain(&text, &g);
	assert_null(text.data);
	scenario_fini(&s);
}

static void counts_what_it_leaves_out(void **state)
{
	struct scenario s;
	struct scenario_import_gaps g;
	scoped_buffer struct buffer text = BUFFER_MAX(1000);

	(void)state;
	assert_int_equal(
		parse(&s, &g,
			"{" TIME
			"'nodes':[{'name':'a','cpu_cores':4},{'name':'a',"
			"'cpu_cores':4},{'name':'b','cpu_cores':4}],"
			"'vms':[" STAY(WEB, "0", "2", "3,0") "," STAY(
				"'pod_uids':['u2']", "0", "1",
				"null") "," STAY("'pod_uids':['u3']", "1", "2",
				"1") "]}",
			OBJECTS, NULL),
		0);
	assert_int_equal(s.node_count, 1);
	assert_int_equal(s.vm_count, 1);
	assert_int_equal(g.nodes_left_out, 2);
	assert_int_equal(g.vms_left_out, 2);
	assert_near(g.cores_left_out, 1);
	scenario_import_explain(&text, &g);
	assert_string_equal(text.data,
		"2 of 3 nodes are left out: the recording or the objects do "
		"not have their size\n"
		"2 of 3 VMs, with 25.0 % of the CPU that was used, are left "
		"out: the recording does not have their usage, or the objects "
		"do not have their size\n");
	scenario_fini(&s);
}

static void leaves_out_nodes_of_unknown_size(void **state)
{
	static const char *const nodes[] = {
		"{'name':'a'}",
		"{'name':'a','cpu_cores':0}",
		"{'name':'a','cpu_cores':-4}",
		"{'name':'a','cpu_cores':1e9}",
		"{'name':'a','cpu_cores':'4'}",
		"{'name':'c','cpu_cores':4}",
	};

	(void)state;
	for (size_t i = 0; i < count_of(nodes); i++) {
		scoped_free char *record =
			xasprintf("{" TIME "'nodes':[%s],'vms':[]}", nodes[i]);
		struct scenario s;
		struct scenario_import_gaps g;
		struct error err;

		assert_int_equal(parse(&s, &g, record, OBJECTS, &err),
			-ENODATA);
		assert_string_equal(err.text,
			"no node is in both the recording and the objects");
	}
}

static void fills_a_gap_with_the_last_value(void **state)
{
	struct scenario s;
	struct scenario_import_gaps g;
	scoped_buffer struct buffer text = BUFFER_MAX(1000);

	(void)state;
	assert_int_equal(parse(&s, &g,
				 "{" TIME NODES "'vms':[" STAY(WEB, "0", "3",
					 "null,2,null") "]}",
				 OBJECTS, NULL),
		0);
	for (size_t step = 0; step < 3; step++) {
		assert_near(scenario_demand(&s.vms[0], step), 2);
	}
	scenario_import_explain(&text, &g);
	assert_string_equal(text.data,
		"2 of 3 steps of VMs were not recorded: each repeats the last "
		"known value\n");
	scenario_fini(&s);
}

static void names_the_error_and_its_place(void **state)
{
	static const struct {
		const char *record, *objects, *error;
		int code;
	} cases[] = {
		{ "{}", "{}",
			"the objects are not a List: 'items' is not a list",
			-EBADMSG },
		{ "{}", OBJECTS, "'step_s' is not a number", -EBADMSG },
		{ "{" TIME "'nodes':7}", OBJECTS, "'nodes' is not a list",
			-EBADMSG },
		{ "{" TIME NODES "'vms':{}}", OBJECTS, "'vms' is not a list",
			-EBADMSG },
		{ "{" TIME NODES "'vms':[]}", OBJECTS,
			"no VM is in both the recording and the objects",
			-ENODATA },
		{ "{" TIME NODES "'vms':[" STAY(WEB, "0", "2", "1") "]}",
			OBJECTS,
			"VM 1: 'used_cores' holds 1 steps, from 0 up to 2",
			-EBADMSG },
		{ "{" TIME NODES "'vms':[" STAY(WEB, "2", "1", "") "]}",
			OBJECTS,
			"VM 1: 'used_cores' holds 0 steps, from 2 up to 1",
			-EBADMSG },
		{ "{" TIME NODES "'vms':[" STAY(WEB, "0", "4", "1") "]}",
			OBJECTS, "VM 1: 'leave_step' is 4, not between 0 and 3",
			-ERANGE },
		{ "{" TIME NODES "'vms':[" STAY(WEB, "0", "2", "1,-1") "]}",
			OBJECTS,
			"VM 1: 'used_cores' holds an invalid number of cores",
			-EBADMSG },
		{ "{" TIME NODES "'vms':[" STAY(WEB, "0", "2", "1,1e9") "]}",
			OBJECTS,
			"VM 1: 'used_cores' holds an invalid number of cores",
			-EBADMSG },
		{ "{" TIME NODES "'vms':[" STAY(WEB, "1", "2", "1") "," STAY(
			  WEB, "0", "1", "1") "]}",
			OBJECTS, "VM 2: arrives before the VM listed before it",
			-EBADMSG },
		{ "{" TIME NODES "'vms':[]}", "{'items':[{'kind':'Node'}]}",
			"a node has no name", -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct scenario s;
		struct scenario_import_gaps g;
		struct error err;

		assert_int_equal(
			parse(&s, &g, cases[i].record, cases[i].objects, &err),
			cases[i].code);
		assert_string_equal(err.text, cases[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(combines_usage_and_sizes),
		cmocka_unit_test(counts_what_it_leaves_out),
		cmocka_unit_test(leaves_out_nodes_of_unknown_size),
		cmocka_unit_test(fills_a_gap_with_the_last_value),
		cmocka_unit_test(names_the_error_and_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
