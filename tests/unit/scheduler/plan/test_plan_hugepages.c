#include "scheduler/plan/plan.h"

#include "tests/support/golden.h"
#include "tests/unit/scheduler/plan/plan_world.h"

#define PAGES "'hugepages-1Gi':'"

/* A node that offers 20 pages of 1 GiB, and a fresh load by which so many are
 * free. */
static void add_node(struct world *w, const char *name, uint64_t free)
{
	struct node_load load = given_load(1, 0);

	world_node_with(w, name, 64, "", PAGES "20Gi',");
	load.hugepages_count = 1;
	load.hugepages[0] = (struct hugepages){ 1 << 30, 20, free, 0 };
	node_set_load(w->cluster.nodes[world_index(w, name)], &load,
		w->input.now_us, w->input.now_us);
}

static struct pod *urgent(struct world *w)
{
	return world_pod(w, "urgent", 1, "", "'priority':10,", PAGES "16Gi',");
}

static void a_vm_that_moves_frees_its_huge_pages(void **state)
{
	WORLD(w);

	add_node(&w, "a", 8);
	add_node(&w, "b", 12);
	(void)world_run(&w, world_pod(&w, "vm-1", 1, "", "", PAGES "8Gi',"),
		"a");
	(void)world_fit(&w, urgent(&w));
	assert_true(w.plan.is_found);
	world_says(&w.plan, "ns/urgent fits on a after 1 move: ns/vm-1 to b");
	world_end(&w);
}

static void pages_that_others_hold_stay_taken(void **state)
{
	WORLD(w);

	add_node(&w, "a", 4);
	add_node(&w, "b", 12);
	(void)world_run(&w, world_pod(&w, "vm-1", 1, "", "", PAGES "8Gi',"),
		"a");
	(void)world_fit(&w, urgent(&w));
	assert_false(w.plan.is_found);
	assert_non_null(strstr(w.plan.sentence,
		"node(s) had fewer huge pages free than requested"));
	world_end(&w);
}

static void a_vm_does_not_move_to_pages_that_others_hold(void **state)
{
	WORLD(w);

	add_node(&w, "a", 8);
	add_node(&w, "b", 4);
	(void)world_run(&w, world_pod(&w, "vm-1", 1, "", "", PAGES "8Gi',"),
		"a");
	(void)world_fit(&w, urgent(&w));
	assert_false(w.plan.is_found);
	world_end(&w);
}

static int64_t free_bytes(const struct world *w, size_t node)
{
	return w->cluster.nodes[node]->scalars[0].free_bytes;
}

static void a_search_leaves_the_free_pages_as_they_were(void **state)
{
	WORLD(w);

	add_node(&w, "a", 8);
	add_node(&w, "b", 12);
	(void)world_run(&w, world_pod(&w, "vm-1", 1, "", "", PAGES "8Gi',"),
		"a");
	(void)world_fit(&w, urgent(&w));
	assert_true(free_bytes(&w, 0) == INT64_C(8) << 30);
	assert_true(free_bytes(&w, 1) == INT64_C(12) << 30);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		golden_test(a_vm_that_moves_frees_its_huge_pages, NULL,
			golden_end),
		golden_test(pages_that_others_hold_stay_taken, NULL,
			golden_end),
		golden_test(a_vm_does_not_move_to_pages_that_others_hold, NULL,
			golden_end),
		golden_test(a_search_leaves_the_free_pages_as_they_were, NULL,
			golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
