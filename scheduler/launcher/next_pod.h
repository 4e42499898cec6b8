/* The pod that KubeVirt would create next for a VM that runs: the target of its
 * migration, or the pod in which it starts again.
 *
 * KubeVirt renders it from the VMI, not from the pod that runs now
 * (RenderMigrationManifest), and for a migration adds selectors from that pod
 * and from the node on which it runs (createTargetPod). launcher_spec.h has the
 * pod of a manifest. Pure. For the event loop alone, but every thread may read
 * a pod that was made.
 *
 * Where it may run comes from the VMI and the KubeVirt CR: node selector, node
 * and pod affinity, tolerations, spread. A migration adds the CPU model of the
 * host and its features (host-model), and since KubeVirt 1.8 the vendor of its
 * CPU.
 *
 * The requests are those of the running pod, unless the VMI or the CR asks for
 * something else: hotplugged CPUs or memory, another overcommit.
 *
 * Its claims are those of the running pod, and those that are hotplugged.
 *
 * Priority and labels are those of the running pod. KubeVirt also gives the
 * target a required anti-affinity to its own VM (label kubevirt.io/created-by,
 * topology kubernetes.io/hostname), which is not in `pod.affinity`: a caller
 * never asks about the node where the VM runs. */
#pragma once

#include "kube/labels.h"
#include "lib/buffer.h"
#include "scheduler/launcher/launcher_settings.h"
#include "scheduler/launcher/launcher_template.h"
#include "scheduler/launcher/launcher_vm.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>

/* All borrowed for the call, but `running`, which outlives the next pod. */
struct next_pod_question {
	const struct launcher_vm *vm; /* NULL: the VMI is not known */
	/* launcher_settings_read() of the KubeVirt CR. */
	const struct launcher_settings *settings;
	/* The launcher pod in which the VM runs, read with POD_UNSCHEDULED. */
	const struct pod *running;
	/* Labels of the node on which it runs; NULL: it starts again. */
	const struct labels *source;
};

/* Zeroed: none. */
struct next_pod {
	/* Borrows what is not in the members below. It has no node. Not for
	 * pod_free(). */
	struct pod pod;
	struct launcher_template *parts; /* a reference */
	struct labels selector;		 /* owned, its ids held */
	struct pod_claim *claims;	 /* owned, NULL: those of the running */
	char *claim_names;		 /* owned; of hotplugged claims */
	/* Owned, their ids held; NULL: those of the running. */
	struct amount *scalars;
};

/* False: the pod cannot be known, or KubeVirt would create none that can be
 * placed; appends one sentence why. *out is then zeroed. */
must_check bool next_pod_derive(struct next_pod *out,
	struct launcher_templates *templates,
	const struct next_pod_question *question, struct buffer *why);

void next_pod_fini(struct next_pod *next); /* zeroed is fine */
