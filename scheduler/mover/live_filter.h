/* Whether a node may take a running VM now: filter/move_filter.h on the cache.
 *
 * A fleet outlives changes of the cache, so its pods and nodes are only names:
 * this looks both up. */
#pragma once

#include "scheduler/cache/cache.h"
#include "scheduler/filter/host_demand.h"
#include "scheduler/filter/move_filter.h"
#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/rebalance/fleet.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed but for the first two: ready. */
struct live_filter {
	const struct cache *cache;
	const struct kubevirt *kubevirt;
	struct next_pod next; /* of the prepared pod */
	bool is_known;
	struct move_filter filter;
	char uid[REPORT_UID_MAX]; /* of the prepared pod; "": none */
	uint64_t reasons; /* of the filters on the last target; 0: none */
	int64_t now_us;
};

/* To be called whenever the event loop ran: the cache may have changed. */
void live_filter_begin(struct live_filter *filter, int64_t now_us);

/* A fleet_may_run; owner is a struct live_filter. */
bool live_filter_may_run(void *owner, const struct fleet_vm *vm,
	const struct fleet_node *target);

/* The demand that the last target, which may not run the VM, does not meet;
 * borrows of `next`. False: something else stands in the way. */
bool live_filter_unmet(const struct live_filter *filter,
	const struct fleet_node *target, struct host_demand *out);

void live_filter_fini(struct live_filter *filter);
