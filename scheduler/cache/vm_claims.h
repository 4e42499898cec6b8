/* Which launcher pods count as VMs, and for how much.
 *
 * Those who may create pods can write a launcher's labels, limits and
 * annotations on any pod. So a label is a claim. The VirtualMachineInstances of
 * KubeVirt decide on it:
 * - A pod is a VM if the VMI whose UID its label kubevirt.io/created-by names
 *   exists in the pod's own namespace. Any other pod is an ordinary pod, which
 *   counts by its requests.
 * - A VM has VM_CLAIMS_PODS pods at most: the source and the target of a
 *   migration. Those that the VMI's status.activePods names come first, then
 *   those that were bound first. The others are ordinary pods.
 * - A pod counts for at most as many vCPUs as its VMI has. It has dedicated
 *   CPUs only if its VMI has, and at most as many as it requests.
 * - While the VMIs are not known, each launcher pod is a VM that is not proven:
 *   five minutes after it was bound, and once it is measured, it counts by that
 *   measurement alone. See cluster/node_vms.h.
 *
 * Pure. */
#pragma once

#include "scheduler/cache/vm_index.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>

/* The pods of a VM are chosen of so many that claim its VMI. */
enum { VM_CLAIMS_PODS = 2, VM_CLAIMS_CONSIDERED = 64 };

/* A VMI's words on its pods. */
struct vm_facts {
	double cpus; /* its vCPUs and I/O threads; 0: it does not say */
	bool is_dedicated;
	const char *active_pods; /* borrowed: UIDs, one a line; NULL: none */
};

enum vm_claims_basis {
	VM_CLAIMS_STATED,   /* a pod is what it says: in files */
	VM_CLAIMS_UNPROVEN, /* the VMIs are not known */
	VM_CLAIMS_VMIS,
};

struct vm_claims {
	enum vm_claims_basis basis;
	/* With VM_CLAIMS_VMIS. False: the namespace has no such VMI. */
	bool (*find)(void *owner, struct vm_facts *out, const char *namespace,
		const char *vmi_uid);
	void *owner;
};

/* The belief on all pods that claim one VMI. */
struct vm_verdict {
	struct pod_belief belief;		/* of these: */
	const struct pod *pods[VM_CLAIMS_PODS]; /* NULL: none */
	bool is_for_all;
};

/* pods: all that claim this VMI; NULL: none does. */
struct vm_verdict vm_claims_judge(const struct vm_claims *claims,
	const struct vm_pods *pods, const char *namespace, const char *vmi_uid);

struct pod_belief vm_verdict_of(const struct vm_verdict *verdict,
	const struct pod *pod);
