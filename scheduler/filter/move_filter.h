/* May this VM run on that node? The filters of a decision for the pod that a
 * VM would get there (`migrated` and `restarted` of its launcher pod; else that
 * pod without its node), also with nominated pods. For a move, the
 * failures of this VM on the node and the pods that the node's kubelet rejected
 * count, too.
 *
 * Works on any cluster. The counts of prefilter_run() are made once for a pod:
 * prepare the pod again after the cluster's pods changed. */
#pragma once

#include "scheduler/cluster/cluster.h"
#include "scheduler/cluster/vm_failures.h"
#include "scheduler/filter/filter.h"
#include "scheduler/filter/prefilter.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stdint.h>

/* rejections_cost() of a node from which VMs stay away: its kubelet rejected
 * more than one VM lately. One alone may be a race and costs .016. */
#define MOVE_FILTER_REJECTIONS 0.02

enum move_filter_kind {
	MOVE_FILTER_MOVE,  /* a running VM moves */
	MOVE_FILTER_START, /* the VM starts again: past failures do not count */
	MOVE_FILTER_POD,   /* a pod that waits, exactly as it is */
};

/* Zeroed: ready. */
struct move_filter {
	const struct cluster *cluster; /* borrowed */
	struct prefilter prefilter;    /* of `pod` */
	struct pod pod; /* as the VM's next pod will be; borrows */
	enum move_filter_kind kind;
	/* Where the next pod is not known: the target pod of a migration may
	 * require the host name of the node that the migration chose. The VM
	 * does not: its next target pod will require another. A copy of the
	 * selector's slots, owned, and the host name's among them; NULL: it is
	 * not required. */
	struct label *slots, *hostname;
	const struct vm_failed_nodes *failed; /* borrowed; NULL: none */
	/* Held. */
	struct interner *interner;
	uint32_t hostname_key, job_key;
};

/* pod: read with POD_UNSCHEDULED. Pod and cluster outlive the use. */
void move_filter_prepare(struct move_filter *filter,
	const struct cluster *cluster, const struct pod *pod,
	enum move_filter_kind kind);

/* The same without affinity, for a caller that knows the pods that may matter:
 * it begins the counts again whenever these pods moved, counts each of them,
 * and settles. plain: the cluster without affinity_pods. */
void move_filter_prepare_plain(struct move_filter *filter,
	const struct cluster *plain, const struct pod *pod,
	enum move_filter_kind kind);
void move_filter_begin_counts(struct move_filter *filter);
void move_filter_count(struct move_filter *filter,
	const struct pod_on_node *existing);
void move_filter_settle(struct move_filter *filter);

/* Past failures keep the VM, or every VM, away from the node. Always false for
 * other kinds than MOVE_FILTER_MOVE. */
bool move_filter_is_avoided(const struct move_filter *filter,
	const struct node *node, int64_t now_us);

/* The reasons of filter_node(); 0: the VM may run there. Whether it runs there
 * already is the caller's to know. The node is unchanged on return. */
uint64_t move_filter_node(struct move_filter *filter, struct node *node,
	const struct filter_options *options, int64_t now_us);

void move_filter_fini(struct move_filter *filter); /* zeroed is fine */
