#include "scheduler/answers/spec.h"

#include "tests/unit/scheduler/given.h"

#include <errno.h>

static void a_placement_names_a_vm_or_a_pod_or_has_a_manifest(void **state)
{
	static const struct {
		const char *json, *name;
		enum placement_kind kind;
	} cases[] = {
		{ "{'vmName':'web'}", "web", PLACEMENT_VM },
		{ "{'podName':'p'}", "p", PLACEMENT_POD },
		{ "{'object':{'kind':'Pod'}}", NULL, PLACEMENT_POD_OBJECT },
		{ "{'object':{'kind':'VirtualMachineInstance'}}", NULL,
			PLACEMENT_VMI_OBJECT },
		{ "{'object':{'kind':'VirtualMachine'}}", NULL,
			PLACEMENT_VM_OBJECT },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct json_value *value = given_json(cases[i].json);
		struct placement_spec spec;

		assert_int_equal(placement_spec_read(&spec, value, NULL), 0);
		assert_int_equal(spec.kind, cases[i].kind);
		assert_int_equal(spec.object != NULL, cases[i].name == NULL);
		if (cases[i].name != NULL) {
			assert_string_equal(spec.name, cases[i].name);
		}
		json_value_free(value);
	}
}

static void refuses_other_placements(void **state)
{
	static const struct {
		const char *json, *why;
	} cases[] = {
		{ "[]", "spec is not an object" },
		{ "{}", "spec has exactly one of vmName, podName and object" },
		{ "{'vmName':'a','podName':'b'}",
			"spec has exactly one of vmName, podName and object" },
		{ "{'vmName':7}",
			"spec.vmName is not a string of 1 to 253 bytes" },
		{ "{'podName':''}",
			"spec.podName is not a string of 1 to 253 bytes" },
		{ "{'podName':'a/b'}",
			"spec.podName holds a byte that no name has" },
		{ "{'object':{'kind':'Node'}}",
			"spec.object.kind is none of Pod, "
			"VirtualMachineInstance and VirtualMachine" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct json_value *value = given_json(cases[i].json);
		struct placement_spec spec;
		struct error err;

		assert_int_equal(placement_spec_read(&spec, value, &err),
			-EINVAL);
		assert_string_equal(err.text, cases[i].why);
		json_value_free(value);
	}
}

static void a_plan_has_a_goal_with_its_names(void **state)
{
	struct json_value *value =
		given_json("{'goal':'NodesGone','nodeNames':['a','b','a']}");
	struct plan_spec spec;

	(void)state;
	assert_int_equal(plan_spec_read(&spec, value, NULL), 0);
	assert_int_equal(spec.goal, GOAL_NODES_GONE);
	assert_int_equal(spec.node_count, 2);
	assert_string_equal(spec.nodes[1], "b");
	json_value_free(value);
	value = given_json("{'goal':'Move','vmName':'web'}");
	assert_int_equal(plan_spec_read(&spec, value, NULL), 0);
	assert_int_equal(spec.goal, GOAL_MOVE);
	assert_string_equal(spec.name, "web");
	json_value_free(value);
	value = given_json("{'goal':'MakeRoom','podName':'p'}");
	assert_int_equal(plan_spec_read(&spec, value, NULL), 0);
	assert_string_equal(spec.name, "p");
	json_value_free(value);
}

static void refuses_other_plans(void **state)
{
	static const struct {
		const char *json, *why;
	} cases[] = {
		{ "7", "spec is not an object" },
		{ "{'goal':'Win'}",
			"spec.goal is none of Evacuate, NodesGone, Move and "
			"MakeRoom" },
		{ "{'goal':'Evacuate'}",
			"this goal has spec.nodeNames and no other" },
		{ "{'goal':'Move','vmName':'a','nodeNames':['b']}",
			"this goal has spec.vmName and no other" },
		{ "{'goal':'Evacuate','nodeNames':['a','b']}",
			"spec.nodeNames is not a list of 1 to 1 names" },
		{ "{'goal':'NodesGone','nodeNames':[]}",
			"spec.nodeNames is not a list of 1 to 256 names" },
		{ "{'goal':'NodesGone','nodeNames':[7]}",
			"an element of spec.nodeNames is not a string of 1 to "
			"253 bytes" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct json_value *value = given_json(cases[i].json);
		struct plan_spec spec;
		struct error err;

		assert_int_equal(plan_spec_read(&spec, value, &err), -EINVAL);
		assert_string_equal(err.text, cases[i].why);
		json_value_free(value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_placement_names_a_vm_or_a_pod_or_has_a_manifest),
		cmocka_unit_test(refuses_other_placements),
		cmocka_unit_test(a_plan_has_a_goal_with_its_names),
		cmocka_unit_test(refuses_other_plans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
