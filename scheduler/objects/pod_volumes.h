/* The volumes of a pod that matter to scheduling: claims, and disks that only
 * one node may use. */
#pragma once

#include "kube/json_value.h"
#include "lib/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pod_claim {
	char *name;	   /* of the claim in the pod's namespace; owned */
	bool is_ephemeral; /* created for the pod from a template */
};

/* An iscsi volume without a claim, or one monitor of an rbd volume without a
 * claim: rbd volumes are the same disk if they share a monitor. */
struct pod_disk {
	bool is_rbd, is_read_only;
	uint32_t name;		/* held: IQN or image */
	uint32_t pool, monitor; /* held; 0 for iscsi */
};

/* Zeroed: none. */
struct pod_volumes {
	struct pod_claim *claims; /* owned; in the pod's order */
	size_t claim_count;
	struct pod_disk *disks; /* owned; sorted, each once */
	size_t disk_count, disk_capacity;
};

/* Reads spec.volumes of a pod called pod. */
void pod_volumes_read(struct pod_volumes *out, struct interner *interner,
	const struct json_value *list, const char *pod);
void pod_volumes_fini(struct pod_volumes *volumes, struct interner *interner);

/* The pods use the same disk and one of them writes: no node can run both. */
bool pod_disks_conflict(const struct pod_volumes *a,
	const struct pod_volumes *b);
