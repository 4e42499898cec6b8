/* Pods of ours that a kubelet did not admit: the direct measure of how well
 * two schedulers get along, and of nodes that are not what they say.
 *
 * kubelet makes such a pod Failed with a reason of its own (pkg/kubelet/
 * lifecycle, 1.36) and the message "Pod was rejected: ...". Pure. */
#pragma once

#include "kube/json_value.h"

#include <stdint.h>

enum rejection {
	REJECTION_NONE, /* it ran, or failed by another's doing */
	REJECTION_CPU,
	REJECTION_MEMORY,
	REJECTION_PODS,
	REJECTION_RESOURCE,  /* of another kind */
	REJECTION_AFFINITY,  /* labels changed meanwhile */
	REJECTION_ADMISSION, /* a device, or a manager of CPUs and the like */
	REJECTION_OTHER,
	REJECTIONS,
};

/* Of a Pod as the API server has it. */
enum rejection rejection_of(const struct value *pod);

/* As kubelet says it where that is one word: "OutOfcpu". */
const char *rejection_name(enum rejection rejection);

/* How much of a node's points is off when it has just rejected a pod, and how
 * long until all are back, evenly. Half: it comes after any other node that is
 * not twice as bad, and still gets what nobody else can take. Ten minutes:
 * KubeVirt tries a VM that failed again after 10 s and up to 450 s, and the
 * next try should still know. */
#define REJECTION_COST 0.5
#define REJECTION_FADES_US INT64_C(600000000)
