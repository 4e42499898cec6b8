/* The answer to where a pod would be placed: every node with its score or the
 * reasons against it, as JSON. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/objects/pod.h"
#include "scheduler/score/policy.h"

#include <stdbool.h>
#include <stdint.h>

struct placement_status_context {
	const struct pod *pod;	       /* read with POD_UNSCHEDULED */
	const struct cluster *cluster; /* without the pod */
	const struct policy *policy;   /* NULL: real-load */
	const struct node *current;    /* where the pod is now; NULL: nowhere */
	const char *scheduler;	       /* this replica's identity */
	const char *derivation;	       /* JSON; NULL: the pod is no guess */
	/* Nobody created the pod yet, so the reasons need not be those of
	 * kube-scheduler: filter/host_demand.h says what KubeVirt demands. */
	bool is_foreseen;
	int64_t now_us;
	uint64_t wall_us;
};

/* Appends the status of a Placement. If all nodes take more than out's maximum,
 * the last ones are counted only. */
void placement_status_write(struct buffer *out,
	const struct placement_status_context *context);
