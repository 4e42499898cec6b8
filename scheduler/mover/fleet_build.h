/* Builds the fleet of a round from the cache, one node at a time.
 *
 * The cache changes between two nodes, and while the search runs. The fleet
 * therefore holds no pod and no node of the cache: its pods and nodes are stubs
 * with names and uids alone. The stub of a node also has its metrics, less the
 * memory that VMs on their way will take. A VM that changes its node meanwhile
 * may be missing or counted twice in this round; an order checks it again.
 */
#pragma once

#include "scheduler/cache/cache.h"
#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/mover/conflicts.h"
#include "scheduler/mover/node_watches.h"
#include "scheduler/mover/not_movable.h"
#include "scheduler/mover/reach.h"
#include "scheduler/rebalance/fleet.h"
#include "scheduler/rebalance/move_records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A VM is moved after more than this much observation by this scheduler; a
 * stored profile does not count. That is two samples and more at the usual
 * intervals. So little is safe, because the forecast of a VM that was watched
 * for a short time is mostly that of its peers: see forecast/model.h. */
#define FLEET_BUILD_SEEN_S 10.0

enum { FLEET_BUILD_EXCLUSION_MAX = 384, FLEET_BUILD_NAMES_MAX = 640 };

/* The sources of a fleet; all borrowed. */
struct fleet_sources {
	const struct cache *cache;
	const struct kubevirt *kubevirt;
	const struct move_records *records;
	const struct conflicts *conflicts;
	const struct node_watches *watches; /* NULL: no node is in trouble */
	const struct reach *reach;  /* NULL: every VM may stand where it is */
	const char *scheduler_name; /* ours */
	double price; /* nodes with less expected shortage give no VM */
	int64_t now_us;
	uint64_t wall_us;
};

/* Zeroed: ready for fleet_build_begin(). */
struct fleet_build {
	struct fleet fleet;
	struct node *nodes; /* owned stubs, for all nodes of the cache */
	size_t node_count;
	size_t next;	   /* node to add */
	struct pod **pods; /* owned stubs */
	size_t pod_count, pod_capacity;
	struct map moving; /* "namespace/vmi" of VMs with a known target */
	/* Names of nodes: targets of our open moves, and sources of those whose
	 * migration the watch has not delivered yet. */
	struct map taking, giving;
	struct map misplaced; /* names of nodes where a VM may not stand */
	struct not_movable not_movable; /* on nodes that could give a VM */
	struct model_prior prior;
	struct migration_limits limits;
	/* A short node that is left alone, and why; "": there is none. */
	char exclusion[FLEET_BUILD_EXCLUSION_MAX];
	/* Its end, for those who may know the names of VMs. */
	char exclusion_names[FLEET_BUILD_NAMES_MAX];
};

/* Forgets the last fleet and starts a new one. */
void fleet_build_begin(struct fleet_build *build,
	const struct fleet_sources *sources);

/* Adds the next node and its VMs. False: all nodes were added. */
bool fleet_build_next(struct fleet_build *build,
	const struct fleet_sources *sources);

/* Forgets the fleet, and keeps some of the memory for the next one. */
void fleet_build_clear(struct fleet_build *build);

void fleet_build_fini(struct fleet_build *build);
