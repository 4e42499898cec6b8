/* The pod of a VM that starts, from a manifest: a Pod as it is, or the launcher
 * pod that virt-controller would create for a VirtualMachineInstance or
 * VirtualMachine.
 *
 * The launcher pod is derived by the rules of KubeVirt 1.9 with the settings of
 * the cluster's KubeVirt. It has the requests, devices, node selector,
 * affinity, tolerations, spread constraints and claims of the VM. Notes name
 * the parts that KubeVirt would take from elsewhere and that are left out: a
 * priority class counts as priority 0. A VM with an instance type is
 * refused. */
#pragma once

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/error.h"
#include "lib/interner.h"
#include "scheduler/launcher/launcher_settings.h"
#include "scheduler/objects/pod.h"

enum launcher_spec_kind {
	LAUNCHER_SPEC_POD,
	LAUNCHER_SPEC_VMI,
	LAUNCHER_SPEC_VM,
};

struct launcher_spec {
	enum launcher_spec_kind kind;	 /* of the object */
	const struct json_value *object; /* borrowed, as the rest */
	const char *namespace;		 /* of the pod */
	struct interner *interner;
	const struct launcher_settings *settings;
};

/* Reads the pod with POD_UNSCHEDULED; the caller frees it. Appends a JSON
 * object that says how a launcher pod was derived; nothing for a Pod.
 * -EINVAL: the sentence says what the manifest lacks, or why it is refused. */
must_check int launcher_spec_pod(struct pod **out, struct buffer *derivation,
	const struct launcher_spec *spec, struct error *err);
