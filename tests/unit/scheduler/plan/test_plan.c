#include "scheduler/plan/plan.h"

#include "tests/support/golden.h"
#include "tests/unit/scheduler/plan/load_world.h"
#include "tests/unit/scheduler/plan/random_world.h"

#include <stdio.h>

static void a_pod_that_fits_needs_no_move(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 16);
	world_node(&w, "b", 64);
	plan = world_fit(&w, world_urgent(&w, 24));
	assert_true(plan->is_found);
	assert_int_equal(plan->count, 0);
	assert_int_equal(plan->node, 1);
	world_says(plan, "ns/urgent fits on b");
	world_end(&w);
}

static void the_smallest_vm_that_suffices_moves(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 32);
	world_node(&w, "b", 32);
	(void)world_vm(&w, "vm-1", "a", 12);
	(void)world_vm(&w, "vm-2", "a", 8);
	(void)world_vm(&w, "vm-3", "b", 16);
	plan = world_fit(&w, world_urgent(&w, 20));
	assert_true(plan->is_found);
	world_says(plan, "ns/urgent fits on a after 1 move: ns/vm-2 to b");
	world_end(&w);
}

/* Their UIDs are in the other order. */
static void the_first_of_equal_vms_by_name_moves(void **state)
{
	struct plan_vm *first, *second;
	char *uid;
	WORLD(w);

	world_node(&w, "a", 32);
	world_node(&w, "b", 32);
	second = world_vm(&w, "vm-2", "a", 8);
	first = world_vm(&w, "vm-1", "a", 8);
	(void)world_vm(&w, "vm-3", "b", 16);
	uid = w.pods[0]->uid;
	w.pods[0]->uid = w.pods[1]->uid;
	w.pods[1]->uid = uid;
	assert_true(strcmp(first->pod->uid, second->pod->uid) > 0);
	world_says(world_fit(&w, world_urgent(&w, 20)),
		"ns/urgent fits on a after 1 move: ns/vm-1 to b");
	world_end(&w);
}

static void two_vms_leave_for_a_large_pod(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 32);
	world_node(&w, "b", 24);
	world_node(&w, "c", 24);
	(void)world_vm(&w, "vm-1", "a", 8);
	(void)world_vm(&w, "vm-2", "a", 8);
	(void)world_vm(&w, "vm-3", "b", 16);
	(void)world_vm(&w, "vm-4", "c", 16);
	plan = world_fit(&w, world_urgent(&w, 32));
	assert_true(plan->is_found);
	world_says(plan,
		"ns/urgent fits on a after 2 moves: ns/vm-1 to b, "
		"ns/vm-2 to c");
	world_end(&w);
}

static void a_vm_without_a_target_pushes_another_one_away(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 16);
	world_node_with(&w, "b", 16, "", "");
	world_node(&w, "c", 4);
	(void)world_vm(&w, "vm-1", "a", 14);
	(void)world_vm(&w, "vm-2", "b", 4);
	plan = world_fit(&w, world_urgent(&w, 16));
	assert_true(plan->is_found);
	world_says(plan, "ns/urgent fits on b after 1 move: ns/vm-2 to c");
	w.vms[1].pod->priority = 5;
	plan = world_plan(&w,
		&(struct plan_goal){ .kind = PLAN_VM_ELSEWHERE,
			.pod = w.vms[0].pod });
	assert_true(plan->is_found);
	world_says(plan,
		"ns/vm-1 leaves a after 2 moves: ns/vm-2 to c, "
		"ns/vm-1 to b");
	world_end(&w);
}

static void a_vm_of_equal_priority_does_not_move(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 16);
	world_node(&w, "b", 8);
	world_vm(&w, "vm-1", "a", 8)->pod->priority = 10;
	plan = world_fit(&w, world_urgent(&w, 16));
	assert_false(plan->is_found);
	assert_int_equal(plan->count, 0);
	assert_int_equal(plan->node, PLAN_NOWHERE);
	world_says(plan,
		"no plan of 3 moves was found that makes ns/urgent fit: a "
		"comes closest, "
		"where 0 moves leave Insufficient memory; ns/vm-1 has no "
		"lower priority");
	w.vms[0].pod->priority = 9;
	assert_true(world_fit(&w, w.pods[1])->is_found);
	world_end(&w);
}

static void a_vm_that_must_not_move_is_named(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 16);
	world_node(&w, "b", 8);
	world_vm(&w, "vm-1", "a", 8)->why_not = "cannot be migrated: RWO";
	plan = world_fit(&w, world_urgent(&w, 16));
	assert_false(plan->is_found);
	assert_non_null(
		strstr(plan->sentence, "ns/vm-1 cannot be migrated: RWO"));
	world_end(&w);
}

static void a_leaving_vms_room_counts(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 16);
	world_node(&w, "b", 12);
	world_vm(&w, "vm-1", "a", 8)->is_leaving = true;
	plan = world_fit(&w, world_urgent(&w, 16));
	assert_true(plan->is_found);
	assert_int_equal(plan->count, 0);
	world_says(plan, "ns/urgent fits on a once ns/vm-1 has left");
	w.vms[0].is_leaving = false;
	assert_int_equal(world_fit(&w, w.pods[1])->count, 1);
	world_end(&w);
}

static void a_node_that_is_excluded_neither_gives_nor_takes(void **state)
{
	WORLD(w);

	world_node(&w, "a", 16);
	world_node(&w, "b", 12);
	(void)world_vm(&w, "vm-1", "a", 8);
	w.exclusions[0] = "is cordoned";
	assert_false(world_fit(&w, world_urgent(&w, 16))->is_found);
	w.exclusions[0] = NULL;
	w.exclusions[1] = "is cordoned";
	assert_false(world_fit(&w, w.pods[1])->is_found);
	w.exclusions[1] = NULL;
	assert_true(world_fit(&w, w.pods[1])->is_found);
	world_end(&w);
}

/* ---- the other goals ---- */

static const struct plan *empty(struct world *w, const char *node)
{
	size_t at = world_index(w, node);

	return world_plan(w,
		&(struct plan_goal){ .kind = PLAN_NODE_EMPTY,
			.nodes = &at,
			.node_count = 1 });
}

static void a_node_is_emptied_even_if_it_is_excluded(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 32);
	world_node(&w, "b", 16);
	world_node(&w, "c", 16);
	(void)world_vm(&w, "vm-1", "a", 4);
	(void)world_vm(&w, "vm-2", "a", 14);
	w.exclusions[0] = "is cordoned";
	plan = empty(&w, "a");
	assert_true(plan->is_found);
	assert_int_equal(plan->moves, 2);
	world_says(plan,
		"a is empty after 2 moves: ns/vm-2 to b, ns/vm-1 to c");
	w.input.max_moves = 1;
	plan = empty(&w, "a");
	assert_false(plan->is_found);
	world_says(plan, "a has 2 VMs, and a plan has 1 move at most");
	w.input.max_moves = 2;
	w.vms[0].why_not = "cannot be migrated: RWO";
	plan = empty(&w, "a");
	assert_false(plan->is_found);
	world_says(plan,
		"a cannot be emptied: ns/vm-1 cannot be migrated: RWO");
	world_end(&w);
}

static const struct plan *drain(struct world *w, const char *node)
{
	size_t at = world_index(w, node);

	return world_plan(w,
		&(struct plan_goal){ .kind = PLAN_NODE_DRAINED,
			.nodes = &at,
			.node_count = 1 });
}

static void a_drained_node_keeps_only_vms_that_cannot_leave(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 60);
	world_node(&w, "b", 16);
	(void)world_vm(&w, "vm-1", "a", 4);
	(void)world_vm(&w, "vm-2", "a", 20);
	world_vm(&w, "vm-3", "a", 8)->why_not = "cannot be migrated: RWO";
	w.exclusions[0] = "is cordoned";
	plan = drain(&w, "a");
	assert_false(plan->is_found);
	assert_int_equal(plan->moves, 1);
	assert_string_equal(plan->steps[0].pod->name, "vm-1");
	assert_int_equal(plan->left_count, 2);
	assert_string_equal(plan->left[0].pod->name, "vm-3");
	assert_string_equal(plan->left[0].why, "cannot be migrated: RWO");
	assert_string_equal(plan->left[1].pod->name, "vm-2");
	assert_string_equal(plan->left[1].why,
		"finds no node: 1 Insufficient memory");
	world_says(plan,
		"2 VMs of a stay: ns/vm-3 cannot be migrated: RWO; the others "
		"leave after 1 move: ns/vm-1 to b");
	w.vms[2].why_not = NULL;
	world_node(&w, "c", 60);
	plan = drain(&w, "a");
	assert_true(plan->is_found);
	assert_int_equal(plan->left_count, 0);
	assert_int_equal(plan->moves, 3);
	world_end(&w);
}

static void a_plan_has_room_for_the_first_vms_of_a_drained_node(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 60);
	world_node(&w, "b", 60);
	(void)world_vm(&w, "vm-1", "a", 4);
	(void)world_vm(&w, "vm-2", "a", 6);
	w.input.max_moves = 1;
	plan = drain(&w, "a");
	assert_false(plan->is_found);
	assert_int_equal(plan->moves, 1);
	assert_string_equal(plan->steps[0].pod->name, "vm-2");
	assert_int_equal(plan->left_count, 1);
	assert_string_equal(plan->left[0].why, "has its turn in the next plan");
	world_end(&w);
}

static void only_vms_that_must_have_left_are_named(void **state)
{
	struct pod *urgent;
	WORLD(w);

	world_node(&w, "a", 30);
	world_node(&w, "b", 12);
	world_vm(&w, "vm-1", "a", 8)->is_leaving = true;
	world_vm(&w, "vm-2", "a", 10)->is_leaving = true;
	world_vm(&w, "vm-3", "b", 10)->is_leaving = true;
	urgent = world_urgent(&w, 14);
	world_says(world_fit(&w, urgent),
		"ns/urgent fits on a once ns/vm-2 has left");
	urgent->requests.memory_bytes *= 2;
	world_says(world_fit(&w, urgent),
		"ns/urgent fits on a once ns/vm-1, ns/vm-2 have left");
	urgent->requests.memory_bytes /= 4;
	world_says(world_fit(&w, urgent), "ns/urgent fits on a");
	world_says(empty(&w, "a"),
		"a is empty once ns/vm-1, ns/vm-2 have left");
	assert_int_equal(w.plan.count, 0);
	world_end(&w);
}

static void a_node_to_which_a_vm_is_on_its_way_is_not_emptied(void **state)
{
	const struct plan *plan;
	struct pod *pod;
	WORLD(w);

	world_node(&w, "a", 32);
	world_node(&w, "b", 32);
	(void)world_vm(&w, "vm-1", "a", 4);
	assert_true(empty(&w, "a")->is_found);
	pod = world_pod(&w, "vm-2", 4, "", "", "");
	pod->is_target = true;
	cluster_add_pod(&w.cluster, w.cluster.nodes[0], pod, 0);
	plan = empty(&w, "a");
	assert_false(plan->is_found);
	assert_int_equal(plan->count, 0);
	world_says(plan, "a cannot be emptied: ns/vm-2 is on its way to a");
	pod->is_vm = false;
	assert_true(empty(&w, "a")->is_found);
	pod->is_vm = true;
	plan = drain(&w, "a");
	assert_int_equal(plan->left_count, 1);
	assert_ptr_equal(plan->left[0].pod, pod);
	assert_string_equal(plan->left[0].why, "is on its way to this node");
	world_end(&w);
}

static void fifty_vms_leave_a_node(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 200);
	world_node(&w, "b", 60);
	world_node(&w, "c", 60);
	world_node(&w, "d", 60);
	for (int i = 0; i < 50; i++) {
		scoped_free char *name = xasprintf("vm-%d", i);

		(void)world_vm(&w, name, "a", 1 + i % 5);
	}
	w.input.max_moves = 50;
	plan = empty(&w, "a");
	assert_true(plan->is_found);
	assert_int_equal(plan->moves, 50);
	world_end(&w);
}

static void vms_of_nodes_that_are_gone_start_by_priority(void **state)
{
	const struct plan *plan;
	size_t gone[1];
	WORLD(w);

	world_node(&w, "a", 32);
	world_node(&w, "b", 16);
	(void)world_vm(&w, "vm-1", "a", 12);
	world_vm(&w, "vm-2", "a", 10)->pod->priority = 5;
	world_vm(&w, "vm-3", "a", 4)->why_not = "cannot be migrated: RWO";
	gone[0] = 0;
	plan = world_plan(&w,
		&(struct plan_goal){ .kind = PLAN_NODES_GONE,
			.nodes = gone,
			.node_count = 1 });
	assert_false(plan->is_found);
	assert_int_equal(plan->count, 2);
	assert_int_equal(plan->moves, 0);
	assert_int_equal(plan->steps[0].kind, PLAN_START);
	assert_ptr_equal(plan->steps[0].pod, w.vms[1].pod);
	assert_int_equal(plan->steps[0].target, 1);
	world_says(plan,
		"1 of 3 VMs found no place: no node takes "
		"ns/vm-1: 1 Insufficient memory");
	world_end(&w);
}

static void others_move_so_that_a_vm_of_a_gone_node_starts(void **state)
{
	const struct plan *plan;
	size_t gone = 0;
	WORLD(w);

	world_node(&w, "a", 32);
	world_node(&w, "b", 16);
	world_node(&w, "c", 12);
	(void)world_vm(&w, "vm-1", "a", 14);
	(void)world_vm(&w, "vm-2", "b", 4);
	plan = world_plan(&w,
		&(struct plan_goal){ .kind = PLAN_NODES_GONE,
			.nodes = &gone,
			.node_count = 1 });
	assert_true(plan->is_found);
	assert_int_equal(plan->count, 2);
	assert_int_equal(plan->moves, 1);
	world_says(plan,
		"all 1 VMs of 1 node start elsewhere after 1 move: "
		"ns/vm-2 to c");
	assert_int_equal(plan->left_count, 0);
	(void)world_vm(&w, "vm-3", "a", 17);
	plan = world_without(&w, 0);
	assert_false(plan->is_found);
	assert_int_equal(plan->left_count, 1);
	assert_string_equal(plan->left[0].pod->name, "vm-3");
	assert_string_equal(plan->left[0].why,
		"finds no node: 2 Insufficient memory");
	world_end(&w);
}

static void a_vm_that_leaves_a_gone_node_starts_again(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 16);
	world_node(&w, "b", 16);
	world_vm(&w, "vm-1", "a", 12)->is_leaving = true;
	plan = world_without(&w, 0);
	assert_true(plan->is_found);
	assert_int_equal(plan->count, 1);
	assert_ptr_equal(plan->steps[0].pod, w.vms[0].pod);
	world_says(plan, "all 1 VMs of 1 node start elsewhere");
	world_end(&w);
}

static void a_vm_that_leaves_another_node_stays_there(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 16);
	world_node(&w, "b", 16);
	world_node(&w, "c", 8);
	(void)world_vm(&w, "vm-1", "a", 12);
	world_vm(&w, "vm-2", "b", 6)->is_leaving = true;
	plan = world_without(&w, 0);
	assert_false(plan->is_found);
	world_says(plan,
		"1 of 1 VMs found no place: no node takes "
		"ns/vm-1: 2 Insufficient memory");
	w.vms[1].is_leaving = false;
	assert_int_equal(world_without(&w, 0)->moves, 1);
	world_end(&w);
}

/* ---- loads ---- */

static const struct plan *elsewhere(struct world *w, size_t vm)
{
	return world_plan(w,
		&(struct plan_goal){ .kind = PLAN_VM_ELSEWHERE,
			.pod = w->vms[vm].pod });
}

static void no_target_becomes_busier_than_the_bound(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 64);
	world_node(&w, "b", 24);
	world_node(&w, "c", 20);
	(void)world_vm(&w, "vm-1", "a", 16);
	(void)world_vm(&w, "vm-2", "b", 1);
	(void)world_vm(&w, "vm-3", "c", 1);
	world_load(&w, "a", 5, 10);
	world_load(&w, "b", 14.5, 10);
	world_load(&w, "c", 4, 10);
	plan = world_fit(&w, world_urgent(&w, 50));
	assert_true(plan->is_found);
	assert_int_equal(plan->steps[0].target, 2);
	assert_true(plan->steps[0].target_load_after <= PLAN_LOAD_MAX);
	assert_true(plan->steps[0].target_load_after >
		plan->steps[0].target_load_before);
	assert_true(plan->steps[0].source_load_after <
		plan->steps[0].source_load_before);
	assert_true(plan->steps[0].source_load_after > 0);
	world_load(&w, "c", 14.5, 10);
	assert_false(world_fit(&w, w.pods[3])->is_found);
	w.input.max_load = 2;
	assert_true(world_fit(&w, w.pods[3])->is_found);
	world_end(&w);
}

static void measured_memory_follows_the_vm(void **state)
{
	WORLD(w);

	world_node(&w, "a", 64);
	world_node(&w, "b", 64);
	(void)world_vm(&w, "vm-1", "a", 1);
	world_vm(&w, "vm-2", "b", 1)->why_not = "cannot be migrated: RWO";
	world_load(&w, "a", 5, 45);
	world_load(&w, "b", 5, 55);
	/* 19 GiB are available on a, 25 without the VM. */
	assert_int_equal(world_fit(&w, world_urgent(&w, 24))->moves, 1);
	assert_false(world_fit(&w, world_urgent(&w, 26))->is_found);
	world_end(&w);
}

static void a_vm_that_was_not_measured_frees_no_measured_memory(void **state)
{
	struct node_load load = given_load(5, 45.0 * (1 << 30));
	struct pod *urgent;
	WORLD(w);

	world_node(&w, "a", 64);
	world_node(&w, "b", 64);
	(void)world_vm(&w, "vm-1", "a", 20);
	world_vm(&w, "vm-2", "b", 1)->why_not = "cannot be migrated: RWO";
	node_set_load(w.cluster.nodes[0], &load, w.input.now_us - 1000000,
		w.input.now_us);
	world_load(&w, "b", 5, 42);
	urgent = world_urgent(&w, 30);
	/* 19 GiB are available on a, whatever its VM uses. */
	assert_false(world_fit(&w, urgent)->is_found);
	urgent->requests.memory_bytes = INT64_C(22) << 30;
	assert_true(world_fit(&w, urgent)->is_found);
	assert_int_equal(w.plan.node, 1);
	/* On its target it counts with all that it requests. */
	world_says(elsewhere(&w, 0),
		"ns/vm-1 leaves a after 1 move: "
		"ns/vm-1 to b");
	world_load(&w, "b", 5, 45);
	assert_false(elsewhere(&w, 0)->is_found);
	world_end(&w);
}

/* ---- the cluster afterwards ---- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		hash = (hash ^ ((const unsigned char *)bytes)[i]) *
			UINT64_C(1099511628211);
	}
	return hash;
}

/* Covers everything that a search changes, in its order. */
static uint64_t hash_cluster(const struct cluster *cluster)
{
	uint64_t hash = cluster->count * 31 + cluster->affinity_pod_count;

	hash = hash_bytes(hash, cluster->affinity_pods,
		cluster->affinity_pod_count * sizeof(struct pod_on_node));
	for (size_t i = 0; i < cluster->count; i++) {
		const struct node *n = cluster->nodes[i];

		hash = hash_bytes(hash, &n->pod_count,
			offsetof(struct node, vms) -
				offsetof(struct node, pod_count));
		hash = hash_bytes(hash, &n->nonzero_milli, 4 * sizeof(int64_t));
		hash = hash_bytes(hash, &n->metrics.memory_available,
			sizeof(double));
		hash = hash_bytes(hash, &n->vms, sizeof(n->vms));
		hash = hash_bytes(hash, n->vms.list,
			n->vms.count * sizeof(struct node_vm));
		hash = hash_bytes(hash, n->scalars,
			n->scalar_count * sizeof(struct node_resource));
		for (size_t k = 0; k < n->pod_count; k++) {
			hash = hash_bytes(hash, &n->pods[k].pod,
				sizeof(struct pod *));
			hash = hash_bytes(hash, &n->pods[k].bound_us,
				sizeof(int64_t));
		}
	}
	return hash;
}

static void the_cluster_is_exactly_as_before(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct world w;
		size_t node = 0;
		struct plan_goal goal = { .kind = (enum plan_goal_kind)(
						  seed % 4),
			.nodes = &node,
			.node_count = 1 };
		uint64_t before;

		goal.pod = random_world(&w, seed);
		if (goal.kind == PLAN_VM_ELSEWHERE) {
			goal.pod = w.vms[0].pod;
		}
		w.vms[1].is_leaving = true;
		world_load(&w, w.cluster.nodes[1]->name, 5, 10);
		before = hash_cluster(&w.cluster);
		(void)world_plan(&w, &goal);
		assert_true(before == hash_cluster(&w.cluster));
		world_end(&w);
	}
}

/* Nodes and VMs in reverse order. */
static void reverse(struct world *w)
{
	struct cluster *c = &w->cluster;

	for (size_t i = 0; i < c->count / 2; i++) {
		struct node *node = c->nodes[i];

		c->nodes[i] = c->nodes[c->count - 1 - i];
		c->nodes[c->count - 1 - i] = node;
	}
	for (size_t i = 0; i < w->vm_count / 2; i++) {
		struct plan_vm vm = w->vms[i];

		w->vms[i] = w->vms[w->vm_count - 1 - i];
		w->vms[w->vm_count - 1 - i] = vm;
	}
	for (size_t i = 0; i < w->vm_count; i++) {
		w->vms[i].node = c->count - 1 - w->vms[i].node;
	}
	for (size_t i = 0; i < c->count; i++) {
		struct node *node = c->nodes[i];

		for (size_t k = 0; k < node->pod_count / 2; k++) {
			struct node_pod pod = node->pods[k];

			node->pods[k] = node->pods[node->pod_count - 1 - k];
			node->pods[node->pod_count - 1 - k] = pod;
		}
	}
}

static void the_order_of_the_input_does_not_matter(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct world w;
		char sentence[PLAN_SENTENCE_MAX];
		struct pod *pod = random_world(&w, seed);

		(void)snprintf(sentence, sizeof(sentence), "%s",
			world_fit(&w, pod)->sentence);
		reverse(&w);
		assert_string_equal(world_fit(&w, pod)->sentence, sentence);
		world_end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		golden_test(a_pod_that_fits_needs_no_move, NULL, golden_end),
		golden_test(the_smallest_vm_that_suffices_moves, NULL,
			golden_end),
		golden_test(the_first_of_equal_vms_by_name_moves, NULL,
			golden_end),
		golden_test(two_vms_leave_for_a_large_pod, NULL, golden_end),
		golden_test(a_vm_without_a_target_pushes_another_one_away, NULL,
			golden_end),
		golden_test(a_vm_of_equal_priority_does_not_move, NULL,
			golden_end),
		golden_test(a_vm_that_must_not_move_is_named, NULL, golden_end),
		golden_test(a_leaving_vms_room_counts, NULL, golden_end),
		golden_test(a_node_that_is_excluded_neither_gives_nor_takes,
			NULL, golden_end),
		golden_test(a_node_is_emptied_even_if_it_is_excluded, NULL,
			golden_end),
		golden_test(a_drained_node_keeps_only_vms_that_cannot_leave,
			NULL, golden_end),
		golden_test(a_plan_has_room_for_the_first_vms_of_a_drained_node,
			NULL, golden_end),
		golden_test(only_vms_that_must_have_left_are_named, NULL,
			golden_end),
		golden_test(a_node_to_which_a_vm_is_on_its_way_is_not_emptied,
			NULL, golden_end),
		golden_test(fifty_vms_leave_a_node, NULL, golden_end),
		golden_test(vms_of_nodes_that_are_gone_start_by_priority, NULL,
			golden_end),
		golden_test(others_move_so_that_a_vm_of_a_gone_node_starts,
			NULL, golden_end),
		golden_test(a_vm_that_leaves_a_gone_node_starts_again, NULL,
			golden_end),
		golden_test(a_vm_that_leaves_another_node_stays_there, NULL,
			golden_end),
		golden_test(no_target_becomes_busier_than_the_bound, NULL,
			golden_end),
		golden_test(measured_memory_follows_the_vm, NULL, golden_end),
		golden_test(a_vm_that_was_not_measured_frees_no_measured_memory,
			NULL, golden_end),
		golden_test(the_cluster_is_exactly_as_before, NULL, golden_end),
		golden_test(the_order_of_the_input_does_not_matter, NULL,
			golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
