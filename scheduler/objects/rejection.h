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

/* The share of its score that a node loses when it rejects a pod, and the time
 * in which the score recovers evenly. With half, the node ranks behind every
 * node with more than half its score, and still gets pods that fit nowhere
 * else. KubeVirt retries a failed VM after 10 s to 450 s; ten minutes cover the
 * next try. */
#define REJECTION_COST 0.5
#define REJECTION_FADES_US INT64_C(600000000)
