/* Whether KubeVirt and people allow a running VM to be moved. Pure. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/kubevirt/vmi.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>

/* pod: its launcher pod, on node; a copy of it will do. node may be NULL: it is
 * not known. vmi may be NULL: it is not known. False: appends the words that
 * follow the VM's name, such as "cannot be migrated: ..."; why may be NULL.
 * Migrations under way, of which vmi does not tell, are the caller's to
 * check. A reservation for a VM that will come is refused as well. */
bool movability_check(const struct vmi *vmi, const struct pod *pod,
	const struct node *node, const struct cluster *cluster,
	struct buffer *why);

/* "an annotation of the VMI forbids it", or of its namespace or node; NULL:
 * nobody does. */
const char *movability_forbidden(const struct vmi *vmi, const struct node *node,
	const struct cluster *cluster);
