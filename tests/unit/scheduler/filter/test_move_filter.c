#include "scheduler/filter/move_filter.h"

#include "tests/support/golden.h"
#include "tests/unit/scheduler/plan/plan_world.h"

static uint64_t ask(struct world *w, struct move_filter *filter,
	const char *node)
{
	return move_filter_node(filter, w->cluster.nodes[world_index(w, node)],
		&w->filter, w->input.now_us);
}

static void the_host_name_of_an_earlier_target_is_free(void **state)
{
	struct move_filter filter = { 0 };
	struct world w;
	struct pod *pod;

	(void)state;
	world_begin(&w);
	world_node(&w, "a", 16);
	world_node(&w, "b", 16);
	pod = world_pod(&w, "vm-1", 4, "'kubevirt.io/migrationJobUID':'x'",
		"'nodeSelector':{'kubernetes.io/hostname':'a'},", "");
	(void)world_run(&w, pod, "a");
	move_filter_prepare(&filter, &w.cluster, pod, MOVE_FILTER_MOVE);
	assert_true(ask(&w, &filter, "b") == 0);
	move_filter_prepare(&filter, &w.cluster, pod, MOVE_FILTER_POD);
	assert_true(ask(&w, &filter, "b") == UINT64_C(1) << REASON_AFFINITY);
	move_filter_fini(&filter);
	world_end(&w);
}

static void past_failures_count_for_moves_alone(void **state)
{
	struct move_filter filter = { 0 };
	struct world w;
	struct pod *pod;
	const struct node *b;

	(void)state;
	world_begin(&w);
	world_node(&w, "a", 16);
	world_node(&w, "b", 16);
	pod = world_pod(&w, "vm-1", 4, "", "", "");
	free(pod->vm_name);
	pod->vm_name = xstrdup("vm-1");
	(void)world_run(&w, pod, "a");
	vm_failures_add(&w.cluster.failures, "ns", "vm-1", "b", w.input.now_us);
	b = w.cluster.nodes[1];
	move_filter_prepare(&filter, &w.cluster, pod, MOVE_FILTER_MOVE);
	assert_true(move_filter_is_avoided(&filter, b, w.input.now_us));
	assert_false(move_filter_is_avoided(&filter, b,
		w.input.now_us + VM_FAILURES_WAIT_US + 1));
	move_filter_prepare(&filter, &w.cluster, pod, MOVE_FILTER_START);
	assert_false(move_filter_is_avoided(&filter, b, w.input.now_us));
	move_filter_fini(&filter);
	world_end(&w);
}

static void nominated_pods_of_higher_priority_count(void **state)
{
	struct move_filter filter = { 0 };
	struct world w;
	struct pod *pod;
	struct pod *nominated;

	(void)state;
	world_begin(&w);
	world_node(&w, "a", 16);
	world_node(&w, "b", 16);
	pod = world_pod(&w, "vm-1", 4, "", "", "");
	(void)world_run(&w, pod, "a");
	nominated = world_urgent(&w, 14);
	free(nominated->nominated_node);
	nominated->nominated_node = xstrdup("b");
	cluster_add_nominated(&w.cluster, nominated);
	move_filter_prepare(&filter, &w.cluster, pod, MOVE_FILTER_MOVE);
	assert_true(ask(&w, &filter, "b") == UINT64_C(1) << REASON_MEMORY);
	nominated->priority = -1;
	assert_true(ask(&w, &filter, "b") == 0);
	move_filter_fini(&filter);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		golden_test(the_host_name_of_an_earlier_target_is_free, NULL,
			golden_end),
		golden_test(past_failures_count_for_moves_alone, NULL,
			golden_end),
		golden_test(nominated_pods_of_higher_priority_count, NULL,
			golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
