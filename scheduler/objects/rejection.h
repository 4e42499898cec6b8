/* Pods of this scheduler that a kubelet rejected. Rejections show conflicts
 * between two schedulers, and nodes whose allocatable is wrong.
 *
 * kubelet sets the phase of such a pod to Failed, with a reason of its own
 * (pkg/kubelet/lifecycle, 1.36) and the message "Pod was rejected: ...".
 * Pure. */
#pragma once

#include "kube/json_value.h"

#include <stdint.h>

enum rejection {
	REJECTION_NONE, /* not rejected by a kubelet */
	REJECTION_CPU,
	REJECTION_MEMORY,
	REJECTION_PODS,
	REJECTION_RESOURCE,  /* another resource */
	REJECTION_AFFINITY,  /* the node's labels changed */
	REJECTION_ADMISSION, /* a device plugin or resource manager */
	REJECTION_OTHER,
	REJECTIONS,
};

/* pod is a Pod object. */
enum rejection rejection_of(const struct json_value *pod);

/* kubelet's reason where that is one word: "OutOfcpu". */
const char *rejection_name(enum rejection rejection);

/* A hash of what the pod belongs to: its VM, else the controller that makes
 * another pod in its place, else itself. */
uint32_t rejection_hash(const struct json_value *pod);

enum { REJECTION_COUNT_MAX = 5 };

/* The pods that a node's kubelet rejected lately: a count of different VMs that
 * falls by one in REJECTION_FADES_US. Zeroed: none. */
struct rejections {
	int64_t at_us; /* of the last one */
	float count;   /* at that time */
	/* The newest first; as many as count, rounded up. */
	uint32_t hashes[REJECTION_COUNT_MAX];
};

/* KubeVirt retries a failed VM after 10 s to 450 s. Ten minutes for each cover
 * the next try, and a node that rejects everything gets one VM in that time. */
#define REJECTION_FADES_US INT64_C(600000000)

/* The largest share of its score that a node loses. The node then ranks behind
 * every node with more than half its score, and still gets pods that fit
 * nowhere else. */
#define REJECTION_COST 0.5

/* Counts a rejection. The same VM or controller again adds nothing until it is
 * forgotten: vm_failures.h keeps a VM away from the node, and a workload that
 * no node takes says nothing about this one. hash: rejection_hash(). */
void rejections_add(struct rejections *rejections, uint32_t hash,
	int64_t now_us);

/* The share of its score that the node loses, 0 to REJECTION_COST. It about
 * doubles with each VM: .016, .05, .11, .24, .5. One rejection may be a race
 * with another scheduler, which says nothing about the next pod. A fault of the
 * node hits one VM after another. */
double rejections_cost(const struct rejections *rejections, int64_t now_us);
