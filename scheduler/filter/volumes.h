/* Can the node run a pod with these volumes? kube-scheduler's
 * VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone.
 *
 * Prepared once per decision; a pod without claims and disks costs nothing.
 * Claims with WaitForFirstConsumer are matched with an existing volume, or a
 * class that can provision one, on each node: see volumes_plan(). */
#pragma once

#include "scheduler/cluster/cluster.h"
#include "scheduler/cluster/node.h"
#include "scheduler/filter/volume_plan.h"
#include "scheduler/objects/pod.h"
#include "scheduler/objects/topology_counts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of the plugins and, within one, of their reasons. */
enum volumes_reason {
	VOLUMES_DISK,	  /* another pod uses the disk there */
	VOLUMES_IN_USE,	  /* ReadWriteOncePod, used by another pod */
	VOLUMES_DRIVER,	  /* a CSI driver that must be there is missing */
	VOLUMES_COUNT,	  /* over the limit of the CSI driver */
	VOLUMES_AFFINITY, /* of a bound volume */
	VOLUMES_NONE,	  /* no volume to bind, none to provision */
	VOLUMES_SPACE,	  /* too little capacity to provision */
	VOLUMES_MISSING,  /* bound to a volume that does not exist */
	VOLUMES_ZONE,
	VOLUMES_REASONS,
};

/* A claim with WaitForFirstConsumer and without a volume. */
struct delayed_claim {
	const struct claim *claim; /* borrowed, as is the class */
	const struct storage_class *class;
	/* The node that was selected before; NULL: none. Borrowed. */
	const char *selected;
	/* Volumes that match on some node; best first. Owned. */
	const struct volume **candidates;
	size_t count;
	size_t prebound; /* candidates at the front */
	/* Index of the other candidates, because there can be as many local
	 * volumes as nodes: `pinned` has those whose affinity is one label with
	 * one value, by that pair (first index + 1, then next[]); `unpinned`
	 * has the rest. Owned. */
	struct topology_counts pinned;
	size_t *next;
	size_t *unpinned;
	size_t unpinned_count;
	/* For a new volume; owned. Unused unless needs_capacity. */
	const struct capacity **capacities;
	size_t capacity_count;
	bool needs_capacity;
};

struct csi_volume {
	uint32_t driver, handle;
};

struct csi_attachment {
	uint32_t node;
	struct csi_volume volume;
};

/* Zero before the first use. */
struct volumes {
	const struct pod *pod; /* borrowed, as is the cluster */
	const struct cluster *cluster;
	char *refusal;	 /* owned; why no node is feasible, or NULL */
	bool is_skipped; /* every node fits */
	int64_t users;	 /* of its ReadWriteOncePod claims */
	bool counts_users;
	const struct claim **bound; /* owned; each of these lists */
	size_t bound_count;
	const struct volume **zoned;
	size_t zoned_count;
	struct delayed_claim *delayed;
	const struct delayed_claim **by_size; /* the same, smallest first */
	size_t delayed_count;
	const struct volume **chosen; /* on the current node */
	size_t chosen_count;
	struct csi_volume *new_volumes; /* of the incoming pod */
	size_t new_count;
	/* Its drivers that exclude the nodes without them, each once. Owned. */
	uint32_t *required;
	size_t required_count;
	struct csi_attachment *attached; /* sorted by node */
	size_t attached_count;
	/* For the current node. */
	struct topology_counts on_node, driver_counts, added;
};

void volumes_prepare(struct volumes *volumes, const struct pod *pod,
	const struct cluster *cluster);
void volumes_fini(struct volumes *volumes); /* zeroed is fine */

/* Where the volumes are, whoever else uses them: instead of volumes_prepare()
 * and volumes_filter(), at a cost that does not grow with the cluster. A claim
 * without a volume is anywhere. */
void volumes_prepare_places(struct volumes *volumes, const struct pod *pod,
	const struct cluster *cluster);
uint32_t volumes_filter_places(const struct volumes *volumes,
	const struct node *node);

/* Adds a nominated pod to the users of the claims, or removes it with sign -1.
 * As in kube-scheduler, this applies only if the incoming pod has disks or its
 * claims are in use, and compares claims by name in any namespace. */
void volumes_count_pod(struct volumes *volumes, const struct pod *pod,
	int sign);

/* One bit per reason; 0: feasible. Not for a refused pod. */
uint32_t volumes_filter(struct volumes *volumes, const struct node *node);

/* The choices for a feasible node; out is zeroed or was used before. */
void volumes_plan(struct volumes *volumes, struct volume_plan *out,
	const struct node *node);
