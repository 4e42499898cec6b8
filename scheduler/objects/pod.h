/* A pod as the scheduler sees it: who it is, what it requests, where it may
 * go.
 *
 * Constraints that are not supported make the pod refused (`unsupported`),
 * never placed by guess: see unsupported.h. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/objects/nonzero_requests.h"
#include "scheduler/objects/labels.h"
#include "scheduler/objects/interner.h"
#include "scheduler/objects/pod_affinity.h"
#include "scheduler/objects/pod_volumes.h"
#include "scheduler/objects/host_ports.h"
#include "scheduler/objects/usage.h"
#include "scheduler/objects/resources.h"
#include "scheduler/objects/node_selector.h"
#include "scheduler/objects/spread_constraints.h"
#include "scheduler/objects/taint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pod_phase {
	POD_PENDING,
	POD_RUNNING,
	POD_SUCCEEDED,
	POD_FAILED,
	POD_UNKNOWN,
};

/* How much of a pod is read. */
enum pod_depth {
	POD_PLACED,   /* runs somewhere: what others must know of it */
	POD_TO_PLACE, /* constraints too */
};

struct pod {
	struct names *names; /* borrowed */

	/* Owned, never NULL; "" where the pod does not say. */
	char *namespace, *name, *uid, *resource_version;
	char *scheduler_name, *node_name;
	char *nominated_node; /* status.nominatedNodeName */
	char *vmi_uid;	      /* label kubevirt.io/created-by */
	char *vm_name;	      /* annotation kubevirt.io/domain */

	int64_t generation;
	int32_t priority;
	enum pod_phase phase;
	bool is_vm;	     /* label kubevirt.io=virt-launcher */
	bool is_deleting;    /* a deletionTimestamp is set */
	bool is_provisional; /* kubevirt.io/ephemeral-provisioning: places.h */
	bool is_gated;	     /* spec.schedulingGates: must not be bound */

	/* Unix time: when PodScheduled became true, else startTime, else the
	 * creation of a pod that has a node; else MOMENT_LONG_AGO. */
	int64_t bound_wall_us;

	uint32_t namespace_id; /* held */
	struct labels labels;
	struct pod_affinity affinity;
	struct host_ports ports;
	struct pod_volumes volumes;

	struct resources requests;
	struct asks asks;
	bool wants_kvm;		/* requests devices.kubevirt.io/kvm */
	double vcpus;		/* of a VM, estimated: see forecast.h; else 0 */
	bool is_dedicated;	/* those are the VM's own */
	double expected_cores;	/* CPU it will use if it is like others */
	struct vm_profile past; /* of this VM, if somebody knows it */
	/* Up to when that was learned of this very pod; 0: it was not. On the
	 * clock of the nodes' figures. */
	int64_t learned_us;

	/* Of POD_TO_PLACE only. */
	char *unsupported; /* owned; why it is refused, or NULL */
	struct tolerations tolerations;
	struct labels node_selector;
	bool has_required; /* required node affinity, maybe without a term */
	struct terms required, preferred;
	struct spread_rules spread;
};

/* -EBADMSG, -E2BIG: not a pod the API server would serve, and why. */
must_check int pod_new(struct pod **out, struct names *names,
	const struct value *object, enum pod_depth depth, struct error *err);
void pod_free(struct pod *pod); /* NULL is fine */

/* Succeeded or failed: holds no resources any more. */
bool pod_is_over(const struct pod *pod);
