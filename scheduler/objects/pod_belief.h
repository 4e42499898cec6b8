/* The part of a launcher pod's words that is believed: whether it counts as a
 * VM, and for how much. cache/vm_claims.h decides on it. Pure. */
#pragma once

#include <stdbool.h>

struct pod;

/* Zeroed: it is an ordinary pod. */
struct pod_belief {
	bool is_vm;
	bool is_unproven; /* nothing proves it */
	/* By the cores of its node, and with dedicated CPUs by its request:
	 * Kubernetes gives a pod no more of its own. */
	bool is_bounded;
	bool may_be_dedicated;
	double vcpus_max;
};

/* It is what it says; and the same while nothing proves it. */
extern const struct pod_belief pod_belief_stated, pod_belief_unproven;

/* Makes the pod count as is believed. Not while a node counts it, except that
 * a VM stays one: see node_vms_believe(). */
void pod_belief_apply(struct pod *pod, const struct pod_belief *belief);

/* The pod counts as is believed. */
bool pod_belief_holds(const struct pod *pod, const struct pod_belief *belief);
