/* The fourth reason to move a running VM: it stands where it may not
 * (filter/standing.h).
 *
 * mover/reach.h finds such VMs in its looks; this asks again about one of them,
 * and finds its target. The target admits the VM now, and still does once the
 * VM has left its node: the move leaves no constraint of the VM violated. The
 * VM goes where the expected CPU shortage grows least. */
#pragma once

#include "scheduler/cache/cache.h"
#include "scheduler/filter/standing.h"
#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/mover/proposals.h"
#include "scheduler/mover/second_target.h"
#include "scheduler/rebalance/fleet.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: ready. */
struct placement {
	struct next_pod next; /* of the VM that was asked about last */
	struct standing standing;
	bool has_counts; /* standing is prepared */
};

/* All borrowed for the call. */
struct placement_question {
	const struct cache *cache;
	const struct kubevirt *kubevirt;
	const struct fleet *fleet;
	const struct proposals *proposals; /* an earlier target stays */
	const char *pod_uid;		   /* of the VM's launcher pod */
	fleet_may_run may_run;
	void *owner; /* of may_run */
};

struct placement_move {
	struct fleet_move move; /* its gain is without a price */
	const char *why;	/* standing_text() */
	struct second_target next;
};

/* False: the VM may stand where it stands, must not move now, or has no target.
 *
 * While a VM of its namespace migrates, other pods do not count: each of two
 * VMs that keep apart would see the other where it leaves. */
bool placement_find(struct placement *placement,
	const struct placement_question *question, struct placement_move *out);

void placement_fini(struct placement *placement); /* zeroed is fine */
