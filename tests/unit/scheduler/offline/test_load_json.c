#include "scheduler/offline/load_json.h"

#include <errno.h>
#include <math.h>

#include "tests/unit/scheduler/given.h"

static void reads_a_response_of_the_aggregator(void **state)
{
	struct json_value *value = given_json(
		"{'epoch':7,'rev':9,'now':1795171612.5,'nodes':[{'name':'n1',"
		"'age_s':1.5,'state':'fresh','cpu':{'cores':16,'used_cores':2."
		"5,"
		"'pressure_some':0.25,'contention':null},'memory':{"
		"'total_bytes':64,'available_bytes':-1},'io':{"
		"'pressure_full':0.5},'kvm':{'state':'create_failed','detail':"
		"'KVM_CREATE_VM: Device or resource busy'},'vms':[{'pod_uid':"
		"'u1','namespace':'vms','name':'vm','used_cores':0.5}],"
		"'news':{}},{'name':'n2','age_s':400}]}");
	struct load_answer answer;
	const struct node_load *load;

	(void)state;
	assert_int_equal(load_answer_read(&answer, value, NULL), 0);
	assert_true(answer.has_now);
	assert_true(fabs(answer.now_s - 1795171612.5) < 1e-6);
	assert_int_equal(answer.count, 2);
	load = &answer.nodes[0];
	assert_string_equal(load->name, "n1");
	assert_int_equal(load->age_us, 1500000);
	assert_true(fabs(load->cpu_cores - 16) < 1e-9);
	assert_true(fabs(load->cpu_used_cores - 2.5) < 1e-9);
	assert_true(fabs(load->cpu_pressure_some - 0.25) < 1e-9);
	assert_true(fabs(load->io_pressure_full - 0.5) < 1e-9);
	assert_true(isnan(load->cpu_contention));
	assert_true(isnan(load->cpu_used_cores_5m));
	assert_true(isnan(load->memory_available_bytes));
	assert_int_equal(load->kvm_state, KVM_CREATE_FAILED);
	assert_string_equal(load->kvm_detail,
		"KVM_CREATE_VM: Device or resource busy");
	assert_int_equal(load->vm_count, 1);
	assert_string_equal(load->vms[0].pod_uid, "u1");
	assert_string_equal(load->vms[0].namespace, "vms");
	assert_true(fabs(load->vms[0].used_cores - 0.5) < 1e-9);
	assert_true(isnan(load->vms[0].memory_bytes));
	assert_int_equal(answer.nodes[1].age_us, 400000000);
	assert_int_equal(answer.nodes[1].kvm_state, KVM_UNVERIFIED);
	load_answer_fini(&answer);
	json_value_free(value);
}

static void reads_huge_pages_by_size(void **state)
{
	struct json_value *value = given_json(
		"{'nodes':[{'name':'n','hugepages':[{'size_bytes':2097152,"
		"'total':512,'free':500,'reserved':7},{'size_bytes':1073741824,"
		"'total':4,'free':-1}]}]}");
	struct load_answer answer;
	const struct hugepages *pages;

	(void)state;
	assert_int_equal(load_answer_read(&answer, value, NULL), 0);
	assert_int_equal(answer.nodes[0].hugepages_count, 2);
	pages = answer.nodes[0].hugepages;
	assert_int_equal(pages[0].size_bytes, 2097152);
	assert_int_equal(pages[0].total, 512);
	assert_int_equal(pages[0].free, 500);
	assert_int_equal(pages[0].reserved, 7);
	assert_int_equal(pages[1].size_bytes, 1073741824);
	assert_true(pages[1].free == REPORT_UNKNOWN);
	assert_true(pages[1].reserved == REPORT_UNKNOWN);
	load_answer_fini(&answer);
	json_value_free(value);
}

static void more_sizes_of_huge_pages_than_kernels_have_are_refused(void **state)
{
	struct json_value *value = given_json(
		"{'nodes':[{'name':'n','hugepages':[{},{},{},{},{}]}]}");
	struct load_answer answer;
	struct error err;

	(void)state;
	assert_int_equal(load_answer_read(&answer, value, &err), -E2BIG);
	assert_non_null(strstr(err.text, "load of node 'n': 'hugepages'"));
	json_value_free(value);
}

static void a_node_without_age_is_not_fresh(void **state)
{
	struct json_value *value = given_json(
		"{'nodes':[{'name':'a'},{'name':'b','state':'fresh'},"
		"{'name':'c','state':'stale'},{'name':'d','age_s':1e99}]}");
	struct load_answer answer;

	(void)state;
	assert_int_equal(load_answer_read(&answer, value, NULL), 0);
	assert_false(answer.has_now);
	assert_int_equal(load_state(answer.nodes[0].age_us, 2000), LOAD_LOST);
	assert_int_equal(load_state(answer.nodes[1].age_us, 2000), LOAD_FRESH);
	assert_int_equal(load_state(answer.nodes[2].age_us, 2000), LOAD_LOST);
	assert_int_equal(load_state(answer.nodes[3].age_us, 2000), LOAD_LOST);
	load_answer_fini(&answer);
	json_value_free(value);
}

static void names_the_error_and_its_place(void **state)
{
	static const struct {
		const char *json, *sentence;
	} cases[] = {
		{ "[]", "load: 'nodes' is not a list" },
		{ "{'nodes':{}}", "load: 'nodes' is not a list" },
		{ "{'nodes':[7]}", "a node's load has no name" },
		{ "{'nodes':[{}]}", "a node's load has no name" },
		{ "{'nodes':[{'name':'n','cpu':[]}]}",
			"load of node 'n': 'cpu' is not an object" },
		{ "{'nodes':[{'name':'n','cpu':{'cores':'4'}}]}",
			"load of node 'n': 'cores' is not a number" },
		{ "{'nodes':[{'name':'n','age_s':true}]}",
			"load of node 'n': 'age_s' is not a number" },
		{ "{'nodes':[{'name':'n','hugepages':7}]}",
			"load of node 'n': 'hugepages' is not a list" },
		{ "{'nodes':[{'name':'n','hugepages':[{'free':'7'}]}]}",
			"load of node 'n': 'free' is not a number" },
		{ "{'nodes':[{'name':'n','vms':{}}]}",
			"load of node 'n': 'vms' is not a list" },
		{ "{'nodes':[{'name':'n','vms':[{}]}]}",
			"load of node 'n': a VM has no valid pod_uid" },
		{ "{'nodes':[{'name':'n','vms':[{'pod_uid':'u',"
		  "'contention':{}}]}]}",
			"load of node 'n': 'contention' is not a number" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct json_value *value = given_json(cases[i].json);
		struct load_answer answer;
		struct error err;

		assert_int_equal(load_answer_read(&answer, value, &err),
			-EBADMSG);
		assert_string_equal(err.text, cases[i].sentence);
		json_value_free(value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_response_of_the_aggregator),
		cmocka_unit_test(reads_huge_pages_by_size),
		cmocka_unit_test(
			more_sizes_of_huge_pages_than_kernels_have_are_refused),
		cmocka_unit_test(a_node_without_age_is_not_fresh),
		cmocka_unit_test(names_the_error_and_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
