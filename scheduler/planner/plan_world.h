/* The input of a search for plans: a copy of the cluster, its running VMs with
 * the reasons why some must not be moved, and the nodes that are excluded.
 *
 * Made and freed in steps on the event loop; between them another thread may
 * use it, because everything in it is its own or never changes. */
#pragma once

#include "scheduler/cache/cluster_copy.h"
#include "scheduler/launcher/next_pod.h"
#include "scheduler/plan/plan.h"
#include "scheduler/planner/planner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The next pods of a VM. */
struct plan_world_pods {
	struct next_pod migrated, restarted; /* zeroed: not known */
};

/* Zeroed: none. */
struct plan_world {
	struct cluster_copy copy;
	const struct planner_options *options; /* borrowed */
	struct plan_vm *vms;		       /* owned, as are the next */
	size_t vm_count, vm_capacity;
	struct plan_world_pods **pods; /* those of the VMs */
	size_t pods_count, pods_capacity;
	char **words; /* the texts of the VMs */
	size_t word_count, word_capacity;
	const char **exclusions; /* by node; the texts are static */
	size_t exclusion_count, exclusion_capacity;
	struct map leaving; /* "namespace/vm node" of our open moves */
	int64_t now_us;
	uint64_t wall_us; /* the same moment since 1970 */
	/* Set after plan_world_begin(). A plan requested by a user ignores
	 * limits on automatic moves, such as the wait after a move. */
	bool is_asked;
};

void plan_world_begin(struct plan_world *world,
	const struct planner_options *options, int64_t now_us,
	uint64_t wall_us);

/* Such a world would let the VM in a pod of the cache move. False: appends why
 * not, as movability_check() does. */
bool plan_world_may_move(const struct planner_options *options,
	const struct pod_on_node *pod, int64_t now_us, uint64_t wall_us,
	struct buffer *why);

/* A step of cluster_copy_next(). False: all is copied. */
bool plan_world_next(struct plan_world *world);

/* Borrows the world. max_moves and the members after it are the defaults. */
struct plan_input plan_world_input(struct plan_world *world);

/* Frees a part. False: the world is zeroed. */
bool plan_world_free_next(struct plan_world *world);
