#include "scheduler/plan/plan.h"

#include "tests/support/golden.h"
#include "tests/unit/scheduler/plan/plan_world.h"

static void a_search_ends_at_its_limit_and_says_so(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 16);
	world_node(&w, "b", 12);
	(void)world_vm(&w, "vm-1", "a", 8);
	w.input.max_work = 3;
	plan = world_fit(&w, world_urgent(&w, 16));
	assert_false(plan->is_found);
	assert_true(plan->is_cut_off);
	assert_non_null(
		strstr(plan->sentence, "the search ended at its limit"));
	w.input.max_work = 1000;
	plan = world_fit(&w, w.pods[1]);
	assert_true(plan->is_found && !plan->is_cut_off);
	assert_true(plan->work > 3 && plan->work < 1000);
	world_end(&w);
}

static void a_vm_that_was_not_tried_is_not_said_to_have_no_node(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 32);
	world_node(&w, "b", 12);
	(void)world_vm(&w, "vm-1", "a", 12);
	(void)world_vm(&w, "vm-2", "a", 10);
	w.input.max_work = 1;
	plan = world_without(&w, 0);
	assert_int_equal(plan->count, 0);
	world_says(plan,
		"2 of 2 VMs found no place: ns/vm-1 was not tried in time; "
		"the search ended at its limit");
	/* No node takes it, but that was not asked. */
	while (world_without(&w, 0)->count == 0) {
		assert_true(++w.input.max_work < 100);
	}
	world_says(&w.plan,
		"1 of 2 VMs found no place: ns/vm-2 was not tried in time; "
		"the search ended at its limit");
	w.input.max_work = 0;
	world_says(world_without(&w, 0),
		"1 of 2 VMs found no place: no node takes ns/vm-2: 1 "
		"Insufficient memory");
	world_end(&w);
}

static void the_words_of_a_search_at_its_limit_are_found_soon(void **state)
{
	static const char apart[] =
		"'affinity':{'podAntiAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':[{"
		"'labelSelector':{'matchLabels':{'app':'x'}},"
		"'topologyKey':'kubernetes.io/hostname'}]}},'priority':10,";
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 200);
	world_node(&w, "b", 1);
	for (int i = 0; i < 60; i++) {
		scoped_free char *name = xasprintf("vm-%d", i);

		(void)world_run(&w, world_pod(&w, name, 1, "'app':'x'", "", ""),
			"a");
	}
	w.input.max_work = 1;
	w.input.max_moves = 50;
	plan = world_fit(&w, world_pod(&w, "urgent", 2, "", apart, ""));
	assert_false(plan->is_found);
	assert_true(plan->work < 1500);
	assert_non_null(strstr(plan->sentence, "a comes closest"));
	world_end(&w);
}

static void a_search_stops_when_it_is_told_to(void **state)
{
	atomic_bool stop = true;
	WORLD(w);

	world_node(&w, "a", 16);
	world_node(&w, "b", 12);
	(void)world_vm(&w, "vm-1", "a", 8);
	w.input.stop = &stop;
	assert_true(world_fit(&w, world_urgent(&w, 16))->is_cut_off);
	assert_true(w.plan.work < 10);
	world_says(&w.plan,
		"no plan of 3 moves was found that makes ns/urgent fit: there "
		"was no "
		"time to look for the closest node; the search ended at its "
		"limit");
	atomic_store(&stop, false);
	assert_true(world_fit(&w, w.pods[1])->is_found);
	world_end(&w);
}

static void put_object(struct world *w, const char *kind, const char *text)
{
	struct json_value *object = given_json(text);
	enum cluster_kind found;
	struct error err;

	assert_true(cluster_kind_find(&found, kind));
	assert_int_equal(cluster_put_object(&w->cluster, found, object, &err),
		0);
	json_value_free(object);
}

/* A class whose volumes are made by hand, and as many of them. */
static void put_volumes(struct world *w, int count)
{
	put_object(w, "StorageClass",
		"{'metadata':{'name':'local'},'volumeBindingMode':"
		"'WaitForFirstConsumer','provisioner':"
		"'kubernetes.io/no-provisioner'}");
	put_object(w, "PersistentVolumeClaim",
		"{'metadata':{'namespace':'ns','name':'c','uid':'u-c'},"
		"'spec':{'storageClassName':'local','accessModes':"
		"['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}"
		"}");
	for (int i = 0; i < count; i++) {
		scoped_free char *text = xasprintf(
			"{'metadata':{'name':'pv-%d','uid':'u-%d'},'spec':{"
			"'storageClassName':'local','accessModes':"
			"['ReadWriteOnce'],'capacity':{'storage':'1Gi'}},"
			"'status':{'phase':'Available'}}",
			i, i);

		put_object(w, "PersistentVolume", text);
	}
}

static uint64_t work_with_volumes(int count)
{
	static const char claim[] =
		"'priority':10,'volumes':[{'name':'v',"
		"'persistentVolumeClaim':{'claimName':'c'}}],";
	uint64_t work;
	struct world w;

	world_begin(&w);
	world_node(&w, "a", 8);
	put_volumes(&w, count);
	work = world_fit(&w, world_pod(&w, "urgent", 1, "", claim, ""))->work;
	assert_true(w.plan.is_found);
	world_end(&w);
	return work;
}

static void volumes_that_are_compared_count_as_work(void **state)
{
	(void)state;
	assert_true(work_with_volumes(400) > work_with_volumes(1) + 90);
}

static void nominated_pods_that_are_read_count_as_work(void **state)
{
	struct pod *urgent, *nominated;
	uint64_t before;
	WORLD(w);

	world_node(&w, "a", 8);
	urgent = world_urgent(&w, 1);
	nominated = world_urgent(&w, 1);
	before = world_fit(&w, urgent)->work;
	for (int i = 0; i < 640; i++) {
		cluster_add_nominated(&w.cluster, nominated);
	}
	assert_true(world_fit(&w, urgent)->work >= before + 10);
	for (int i = 0; i < 640; i++) {
		cluster_remove_nominated(&w.cluster, nominated);
	}
	world_end(&w);
}

static void each_reason_of_the_nodes_is_counted(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node_with(&w, "a", 32, "", "'nvidia.com/gpu':'1',");
	world_node_with(&w, "b", 4, "", "'nvidia.com/gpu':'1',");
	world_node(&w, "c", 32);
	(void)world_run(&w,
		world_pod(&w, "vm-1", 8, "", "", "'nvidia.com/gpu':'1',"), "a");
	plan = world_plan(&w,
		&(struct plan_goal){ .kind = PLAN_VM_ELSEWHERE,
			.pod = w.vms[0].pod });
	assert_false(plan->is_found);
	world_says(plan,
		"no plan of 3 moves was found that moves ns/vm-1 elsewhere: "
		"no node takes ns/vm-1: 1 Insufficient memory, 1 Insufficient "
		"nvidia.com/gpu");
	world_end(&w);
}

static void a_vm_that_is_leaving_needs_no_plan(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 32);
	world_node(&w, "b", 32);
	world_vm(&w, "vm-1", "a", 8)->is_leaving = true;
	plan = world_plan(&w,
		&(struct plan_goal){ .kind = PLAN_VM_ELSEWHERE,
			.pod = w.vms[0].pod });
	assert_true(plan->is_found);
	assert_int_equal(plan->count, 0);
	world_says(plan, "ns/vm-1 leaves a already");
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		golden_test(each_reason_of_the_nodes_is_counted, NULL,
			golden_end),
		golden_test(a_vm_that_is_leaving_needs_no_plan, NULL,
			golden_end),
		golden_test(a_search_ends_at_its_limit_and_says_so, NULL,
			golden_end),
		golden_test(a_vm_that_was_not_tried_is_not_said_to_have_no_node,
			NULL, golden_end),
		golden_test(the_words_of_a_search_at_its_limit_are_found_soon,
			NULL, golden_end),
		golden_test(a_search_stops_when_it_is_told_to, NULL,
			golden_end),
		golden_test(volumes_that_are_compared_count_as_work, NULL,
			golden_end),
		golden_test(nominated_pods_that_are_read_count_as_work, NULL,
			golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
