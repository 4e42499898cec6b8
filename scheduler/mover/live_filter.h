/* Whether a node may take a running VM now: the filters of a decision, also
 * with nominated pods, the failures of this VM on this node, and the pods that
 * its kubelet rejected.
 *
 * A fleet outlives changes of the cache, so its pods and nodes are only names:
 * this looks both up. */
#pragma once

#include "scheduler/cache/cache.h"
#include "scheduler/filter/prefilter.h"
#include "scheduler/rebalance/fleet.h"

#include <stdbool.h>
#include <stdint.h>

/* rejections_cost() of a node from which VMs stay away: its kubelet rejected
 * more than one VM lately. One alone may be a race and costs .016. */
#define LIVE_FILTER_REJECTIONS 0.02

/* Zeroed but for the cache: ready. */
struct live_filter {
	const struct cache *cache;
	struct prefilter prefilter; /* of `pod` */
	struct pod pod;		    /* as its target pod will be */
	char uid[REPORT_UID_MAX];   /* "": no pod is prepared */
	/* The target pod of a migration may require the host name of the node
	 * that the migration chose. The VM does not: its next target pod will
	 * require another. A copy of the selector's slots, owned, and the host
	 * name's among them; NULL: it is not required. */
	struct label *slots, *hostname;
	int64_t now_us;
};

/* To be called whenever the event loop ran: the cache may have changed. */
void live_filter_begin(struct live_filter *filter, int64_t now_us);

/* A fleet_may_run; owner is a struct live_filter. */
bool live_filter_may_run(void *owner, const struct fleet_vm *vm,
	const struct fleet_node *target);

void live_filter_fini(struct live_filter *filter);
