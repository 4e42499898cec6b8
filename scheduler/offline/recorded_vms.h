/* The VMs of a recorded state, as the planner takes them: where each runs, and
 * why it must not be moved.
 *
 * Without "vmis" in the file nothing is known of what KubeVirt and people
 * allow: every VM may move whose launcher pod is not about to end. Pure. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/kubevirt/inventory.h"
#include "scheduler/launcher/next_pod.h"
#include "scheduler/offline/recorded_state.h"
#include "scheduler/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

/* The next pods of a VM; zeroed: they are not known. */
struct recorded_pods {
	struct next_pod migrated, restarted;
};

/* Zeroed is empty. */
struct recorded_vms {
	const struct recorded_state *state; /* borrowed */
	const char *scheduler_name;	    /* borrowed */
	struct inventory inventory;
	bool has_migrations; /* the file has their list, even an empty one */
	struct launcher_settings settings; /* without any: the defaults */
	struct launcher_templates templates;
	bool has_vmis;
	struct plan_vm *list;	    /* owned */
	char **texts;		    /* owned; the list's why_not */
	struct recorded_pods *pods; /* owned; by VM of the list */
	size_t count;
	const char **exclusions; /* owned; by node, see struct plan_input */
};

/* Reads "vmis", "kubevirts" and "migrations" of the input, whose other members
 * are in state, read with has_moves. With "vmis", a VM moves only if its
 * launcher pod names scheduler_name. state outlives *out, which needs
 * recorded_vms_fini() after a failure too. -EBADMSG, -E2BIG: the sentence names
 * the object. */
must_check int recorded_vms_read(struct recorded_vms *out,
	const struct recorded_state *state, const struct json_value *input,
	const char *scheduler_name, struct error *err);
void recorded_vms_fini(struct recorded_vms *vms); /* zeroed is fine */

/* The index of a node in the cluster; PLAN_NOWHERE: there is no such node. */
ptrdiff_t recorded_vms_node(const struct recorded_vms *vms, const char *name);

/* The name of a pod's VM; without the annotation that tells it, the pod's. */
const char *recorded_vms_name(const struct pod *pod);
