/* The volumes of a pod that matter to scheduling: claims, and disks that only
 * one node may use. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/objects/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { POD_VOLUMES_MAX = 4096, POD_DISK_MONITORS_MAX = 256 };

struct pod_claim {
	char *name;	   /* of the claim in the pod's namespace; owned */
	bool is_ephemeral; /* created for the pod from a template */
};

/* An iscsi or rbd volume without a claim. */
struct pod_disk {
	bool is_rbd, is_read_only;
	uint32_t name, pool; /* held: IQN or image; pool of rbd, else 0 */
	uint32_t *monitors;  /* owned, each held */
	size_t monitor_count;
};

/* Zeroed: none. */
struct pod_volumes {
	struct pod_claim *claims; /* owned; in the pod's order */
	size_t claim_count;
	struct pod_disk *disks; /* owned */
	size_t disk_count;
};

/* Reads spec.volumes of a pod called pod. -E2BIG: too many. */
must_check int pod_volumes_read(struct pod_volumes *out,
	struct interner *interner, const struct json_value *list,
	const char *pod, struct error *err);
void pod_volumes_fini(struct pod_volumes *volumes, struct interner *interner);

/* The pods use the same disk and one of them writes: no node can run both. */
bool pod_disks_conflict(const struct pod_volumes *a,
	const struct pod_volumes *b);
