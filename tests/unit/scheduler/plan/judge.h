/* A judge of plans that shares no code with the search: it tries all sequences
 * of moves on a cluster of its own. */
#pragma once

#include "scheduler/filter/nominated_pods.h"
#include "scheduler/filter/prefilter.h"
#include "tests/unit/scheduler/plan/plan_world.h"

/* The pod may run on the node, by the filters alone. */
static inline bool judge_admits(struct world *w, const struct pod *pod,
	size_t node)
{
	struct prefilter prefilter = { 0 };
	bool may;

	prefilter_run(&prefilter, pod, &w->cluster);
	may = nominated_pods_filter(&prefilter, w->cluster.nodes[node],
		      &w->filter, w->input.now_us) == 0;
	prefilter_fini(&prefilter);
	return may;
}

static inline void judge_move(struct world *w, size_t vm, size_t target)
{
	struct plan_vm *at = &w->vms[vm];

	cluster_remove_pod(&w->cluster, w->cluster.nodes[at->node], at->pod);
	cluster_add_pod(&w->cluster, w->cluster.nodes[target], at->pod, 0);
	at->node = target;
}

struct judge {
	struct world *world;
	const struct plan_goal *goal;
	size_t vm;	     /* the goal's, or WORLD_VMS */
	unsigned char *seen; /* by the nodes of all VMs: moves left + 1 */
	size_t seen_size;
};

static inline bool judge_reached(const struct judge *j)
{
	struct world *w = j->world;

	switch (j->goal->kind) {
	case PLAN_POD_FITS:
		for (size_t i = 0; i < w->cluster.count; i++) {
			if (judge_admits(w, j->goal->pod, i)) {
				return true;
			}
		}
		return false;
	case PLAN_NODE_EMPTY:
		for (size_t i = 0; i < w->vm_count; i++) {
			if (w->vms[i].node == j->goal->nodes[0]) {
				return false;
			}
		}
		return true;
	default:
		return w->vms[j->vm].node !=
			(size_t)w->vms[j->vm].pod->generation;
	}
}

/* Nodes that VMs may be on: cordoned ones come last. */
static inline size_t judge_nodes(const struct world *w)
{
	size_t count = 0;

	while (count < w->cluster.count &&
		!w->cluster.nodes[count]->is_unschedulable) {
		count++;
	}
	return count;
}

static inline size_t judge_code(const struct world *w)
{
	size_t nodes = judge_nodes(w);
	size_t code = 0;

	for (size_t i = 0; i < w->vm_count; i++) {
		code = code * nodes + w->vms[i].node;
	}
	return code;
}

static inline bool judge_may_move(const struct judge *j, size_t vm)
{
	const struct plan_vm *at = &j->world->vms[vm];

	return at->why_not == NULL &&
		(j->goal->kind != PLAN_POD_FITS ||
			at->pod->priority < j->goal->pod->priority);
}

static inline bool judge_search(struct judge *j, int moves);

static inline bool judge_try(struct judge *j, size_t vm, int moves)
{
	struct world *w = j->world;
	size_t source = w->vms[vm].node;

	for (size_t t = 0; t < w->cluster.count; t++) {
		bool found;

		if (t == source || !judge_admits(w, w->vms[vm].pod, t)) {
			continue;
		}
		judge_move(w, vm, t);
		found = judge_search(j, moves - 1);
		judge_move(w, vm, source);
		if (found) {
			return true;
		}
	}
	return false;
}

/* Some sequence of at most `moves` legal moves reaches the goal. */
static inline bool judge_search(struct judge *j, int moves)
{
	unsigned char *seen = &j->seen[judge_code(j->world)];

	if (*seen > moves) {
		return false;
	}
	*seen = (unsigned char)(moves + 1);
	if (judge_reached(j)) {
		return true;
	}
	for (size_t i = 0; i < j->world->vm_count && moves > 0; i++) {
		if (judge_may_move(j, i) && judge_try(j, i, moves)) {
			return true;
		}
	}
	return false;
}

static inline bool judge_finds(struct judge *j, int moves)
{
	size_t size = 1;
	bool found;

	for (size_t i = 0; i < j->world->vm_count; i++) {
		size *= judge_nodes(j->world);
	}
	j->seen = xcalloc(size, 1);
	found = judge_search(j, moves);
	free(j->seen);
	return found;
}
