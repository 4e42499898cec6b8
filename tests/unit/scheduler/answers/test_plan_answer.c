/* Answers to questions for plans, also to those who may not know all VMs. */
#include "scheduler/answers/plan_answer.h"

#include "tests/support/golden.h"
#include "tests/unit/scheduler/plan/plan_world.h"

#include <stdio.h>

/* The VM of a namespace. */
static struct plan_vm *run_vm(struct world *w, const char *namespace,
	const char *name, const char *node, int gib)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'launcher-%s','namespace':'%s','uid':"
		"'uid-%s','labels':{'kubevirt.io':'virt-launcher'},"
		"'annotations':{'kubevirt.io/domain':'%s'}},'spec':{"
		"'containers':[{'name':'compute','resources':{'requests':{"
		"'cpu':'100m','memory':'%dGi'}}}]}}",
		name, namespace, name, name, gib);
	struct pod *pod = given_pod(w->interner, json);

	w->pods[w->pod_count++] = pod;
	return world_run(w, pod, node);
}

/* The status and the answer to the spec. The caller frees *body. */
static unsigned ask(struct world *w, const char *json, bool is_visible,
	char **body)
{
	struct json_value *value = given_json(json);
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	struct plan_question question;
	struct plan_spec spec;
	unsigned status;

	assert_int_equal(plan_spec_read(&spec, value, NULL), 0);
	plan_question_init(&question, &spec, "shop", is_visible);
	question.scheduler = "replica-1";
	if (spec.goal == GOAL_MAKE_ROOM) {
		question.pod = pod_share(w->pods[0]);
	}
	status = plan_answer_write(&out, &question, &w->input, 0);
	golden_tell("%u %s\n", status, out.data);
	plan_question_fini(&question);
	json_value_free(value);
	*body = buffer_take(&out, NULL);
	return status;
}

static void expect(const char *body, const char *part)
{
	if (strstr(body, part) == NULL) {
		fail_msg("'%s' is not in %s", part, body);
	}
}

static void expect_not(const char *body, const char *part)
{
	if (strstr(body, part) != NULL) {
		fail_msg("'%s' is in %s", part, body);
	}
}

static void give_vms(struct world *w)
{
	world_node(w, "a", 64);
	world_node(w, "b", 32);
	world_node(w, "c", 32);
	(void)run_vm(w, "shop", "web", "a", 8);
	(void)run_vm(w, "bank", "vault", "a", 4);
	(void)run_vm(w, "shop", "cache", "a", 2);
	run_vm(w, "bank", "safe", "a", 3)->why_not =
		"cannot be migrated: bank's disk";
}

static void an_evacuation_says_who_goes_where_in_which_wave(void **state)
{
	scoped_free char *body = NULL;
	WORLD(w);

	give_vms(&w);
	assert_int_equal(
		ask(&w, "{'goal':'Evacuate','nodeNames':['a']}", true, &body),
		200);
	expect(body, "\"found\":false,\"cutOff\":false");
	expect(body, "\"scheduler\":\"replica-1\"");
	expect(body, "\"waves\":2");
	expect(body,
		"{\"wave\":1,\"action\":\"Migrate\",\"namespace\":\"shop\","
		"\"vmName\":\"web\",\"sourceNode\":\"a\",\"targetNode\":"
		"\"b\"}");
	expect(body, "{\"wave\":2,\"action\":\"Migrate\"");
	expect(body,
		"\"stuck\":[{\"namespace\":\"bank\",\"vmName\":\"safe\","
		"\"nodeName\":\"a\",\"reason\":\"cannot be migrated: bank's "
		"disk\"}]");
	expect(body, "\"lost\":[]");
	/* 17 of 64 GiB leave 3. */
	expect(body,
		"{\"name\":\"a\",\"isTarget\":false,\"memoryBefore\":0.265625,"
		"\"memoryAfter\":0.046875}");
	expect(body, "{\"name\":\"b\",\"isTarget\":true");
	expect(body,
		"\"hidden\":{\"vms\":0,\"steps\":0,\"stuck\":0,\"lost\":0}");
	expect(body, "bank/safe cannot be migrated");
	world_end(&w);
}

static void a_vm_that_nobody_measured_leaves_no_memory_in_use(void **state)
{
	scoped_free char *body = NULL;
	struct node_load load = given_load(1, 16.0 * (1 << 30));
	WORLD(w);

	world_node(&w, "a", 64);
	world_node(&w, "b", 64);
	(void)run_vm(&w, "shop", "web", "a", 16);
	for (size_t i = 0; i < 2; i++) {
		node_set_load(w.cluster.nodes[i], &load, w.input.now_us,
			w.input.now_us);
	}
	assert_int_equal(ask(&w, "{'goal':'Move','vmName':'web'}", true, &body),
		200);
	expect(body, "\"memoryBefore\":0.25,\"memoryAfter\":0.25}");
	expect(body, "\"memoryBefore\":0.25,\"memoryAfter\":0.5}");
	world_end(&w);
}

static void vms_of_other_namespaces_are_counted_and_not_named(void **state)
{
	static const char *const specs[] = {
		"{'goal':'Evacuate','nodeNames':['a']}",
		"{'goal':'NodesGone','nodeNames':['a']}",
		"{'goal':'Move','vmName':'web'}",
		"{'goal':'MakeRoom','podName':'launcher-web'}",
	};
	WORLD(w);

	give_vms(&w);
	for (size_t i = 0; i < count_of(specs); i++) {
		scoped_free char *body = NULL;

		assert_int_equal(ask(&w, specs[i], false, &body), 200);
		expect_not(body, "bank");
		expect_not(body, "vault");
		expect_not(body, "safe");
		if (i == 0) {
			expect(body,
				"\"sentence\":\"1 VM of a stays; 3 moves in 2 "
				"waves; 2 VMs of other namespaces are not "
				"named\"");
			expect(body,
				"\"hidden\":{\"vms\":2,\"steps\":1,\"stuck\":1,"
				"\"lost\":0}");
		}
	}
	world_end(&w);
}

static void a_pushed_vm_of_another_namespace_is_not_named(void **state)
{
	scoped_free char *shown = NULL;
	scoped_free char *hidden = NULL;
	WORLD(w);

	world_node(&w, "a", 16);
	world_node(&w, "b", 16);
	world_node(&w, "c", 8);
	(void)run_vm(&w, "shop", "web", "a", 14);
	(void)run_vm(&w, "bank", "vault", "b", 6);
	assert_int_equal(
		ask(&w, "{'goal':'Move','vmName':'web'}", true, &shown), 200);
	expect(shown, "\"found\":true");
	expect(shown, "bank/vault to c");
	expect(shown, "{\"wave\":2,");
	assert_int_equal(
		ask(&w, "{'goal':'Move','vmName':'web'}", false, &hidden), 200);
	expect(hidden, "\"found\":true");
	expect(hidden,
		"\"sentence\":\"shop/web leaves its node for b; 2 moves in 2 "
		"waves; 1 VM of other namespaces is not named\"");
	expect(hidden, "\"steps\":[{\"wave\":2,");
	expect_not(hidden, "vault");
	world_end(&w);
}

static void vms_that_find_no_place_after_nodes_are_gone_are_lost(void **state)
{
	scoped_free char *body = NULL;
	WORLD(w);

	world_node(&w, "a", 64);
	world_node(&w, "b", 16);
	(void)run_vm(&w, "shop", "web", "a", 8);
	(void)run_vm(&w, "shop", "big", "a", 20);
	assert_int_equal(
		ask(&w, "{'goal':'NodesGone','nodeNames':['a']}", false, &body),
		200);
	expect(body, "\"found\":false");
	expect(body,
		"{\"wave\":1,\"action\":\"Start\",\"namespace\":\"shop\","
		"\"vmName\":\"web\",\"sourceNode\":\"a\",\"targetNode\":"
		"\"b\"}");
	expect(body,
		"\"lost\":[{\"namespace\":\"shop\",\"vmName\":\"big\","
		"\"nodeName\":\"a\",\"reason\":\"finds no node: 1 Insufficient "
		"memory\"}]");
	expect(body, "\"sentence\":\"1 VM found no place\"");
	world_end(&w);
}

static void a_vm_that_must_stay_says_why(void **state)
{
	scoped_free char *body = NULL;
	WORLD(w);

	world_node(&w, "a", 16);
	world_node(&w, "b", 16);
	run_vm(&w, "shop", "web", "a", 4)->why_not = "is being migrated";
	assert_int_equal(
		ask(&w, "{'goal':'Move','vmName':'web'}", false, &body), 200);
	expect(body, "\"found\":false");
	expect(body,
		"no plan was found that moves shop/web: it is being migrated");
	world_end(&w);
}

static void unknown_names_are_not_found(void **state)
{
	scoped_free char *node = NULL;
	scoped_free char *vm = NULL;
	WORLD(w);

	world_node(&w, "a", 16);
	(void)run_vm(&w, "bank", "web", "a", 4);
	assert_int_equal(
		ask(&w, "{'goal':'Evacuate','nodeNames':['z']}", true, &node),
		404);
	assert_string_equal(node, "no node z is known");
	/* A VM of another namespace is not this one. */
	assert_int_equal(ask(&w, "{'goal':'Move','vmName':'web'}", true, &vm),
		404);
	assert_string_equal(vm, "the VM shop/web does not run");
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		golden_test(an_evacuation_says_who_goes_where_in_which_wave,
			NULL, golden_end),
		golden_test(a_vm_that_nobody_measured_leaves_no_memory_in_use,
			NULL, golden_end),
		golden_test(vms_of_other_namespaces_are_counted_and_not_named,
			NULL, golden_end),
		golden_test(a_pushed_vm_of_another_namespace_is_not_named, NULL,
			golden_end),
		golden_test(
			vms_that_find_no_place_after_nodes_are_gone_are_lost,
			NULL, golden_end),
		golden_test(a_vm_that_must_stay_says_why, NULL, golden_end),
		golden_test(unknown_names_are_not_found, NULL, golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
