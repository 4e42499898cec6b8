/* May the pod's volumes be on this node? kube-scheduler's VolumeRestrictions,
 * NodeVolumeLimits, VolumeBinding and VolumeZone.
 *
 * Prepared once per decision; a pod without claims and disks costs nothing. For
 * claims that wait for their first consumer it finds, node by node, volumes
 * that are there or classes that can make one, and says which: volumes_plan().
 */
#pragma once

#include "scheduler/cluster/cluster.h"
#include "scheduler/cluster/node.h"
#include "scheduler/objects/topology_counts.h"
#include "scheduler/objects/pod.h"
#include "scheduler/filter/volume_plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of the plugins and, within one, of their reasons. */
enum volumes_reason {
	VOLUMES_DISK,	  /* another pod has the disk there */
	VOLUMES_IN_USE,	  /* ReadWriteOncePod, and another pod has it */
	VOLUMES_COUNT,	  /* more than the driver can attach there */
	VOLUMES_AFFINITY, /* of a bound volume */
	VOLUMES_NONE,	  /* no volume to bind, none to provision */
	VOLUMES_SPACE,	  /* not enough of it to provision */
	VOLUMES_MISSING,  /* bound to a volume that is not there */
	VOLUMES_ZONE,
	VOLUMES_REASONS,
};

/* A claim that gets its volume with this decision. */
struct delayed_claim {
	struct claim *claim; /* borrowed, as is the class */
	const struct storage_class *class;
	/* Volumes it could have, but for the node; best first. Owned. */
	struct volume **candidates;
	size_t count;
	size_t meant; /* so many at the front are for this claim */
	/* Of the others: those with one label of one value to ask of a node by
	 * that pair (first index + 1, then next[]), and the rest. Local volumes
	 * are as many as nodes. Owned. */
	struct pairs pinned;
	size_t *next;
	size_t *loose;
	size_t loose_count;
	/* Where a new one can be; owned. Anywhere unless needs_room. */
	const struct capacity **rooms;
	size_t room_count;
	bool needs_room;
};

struct csi_volume {
	uint32_t driver, handle;
};

struct csi_attachment {
	uint32_t node;
	struct csi_volume volume;
};

/* A zeroed one has nothing to say. */
struct volumes {
	const struct pod *pod; /* borrowed, as is the cluster */
	const struct cluster *cluster;
	char *refusal; /* owned; why no node will do, or NULL */
	bool is_idle;  /* every node will */
	int64_t users; /* of its claims that are for one pod */
	bool asks_for_users;
	const struct claim **bound; /* owned; each of these lists */
	size_t bound_count;
	const struct volume **zoned;
	size_t zoned_count;
	struct delayed_claim *delayed;
	const struct delayed_claim **by_size; /* the same, smallest first */
	size_t delayed_count;
	struct volume **chosen; /* on the node that is looked at */
	size_t chosen_count;
	struct csi_volume *fresh; /* what the pod brings */
	size_t fresh_count;
	struct csi_attachment *attached; /* sorted by node */
	size_t attached_count;
	struct pairs here, counts, more; /* of the node that is looked at */
};

void volumes_prepare(struct volumes *volumes, const struct pod *pod,
	const struct cluster *cluster);
void volumes_fini(struct volumes *volumes); /* zeroed is fine */

/* A nominated pod counts as a user of claims, or again not. Only where the pod
 * brings disks without claims or its claims are in use anyway, and by name in
 * whatever namespace: kube-scheduler does it so. */
void volumes_count_pod(struct volumes *volumes, const struct pod *pod,
	int sign);

/* One bit per reason; 0: the node will do. Not for a refused pod. */
uint32_t volumes_filter(struct volumes *volumes, const struct node *node);

const char *volumes_reason_text(enum volumes_reason reason);

/* What must be done for this node, which will do; out is zeroed or was used
 * before. */
void volumes_plan(struct volumes *volumes, struct volume_plan *out,
	const struct node *node);
