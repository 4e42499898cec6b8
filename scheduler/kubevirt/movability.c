#include "scheduler/kubevirt/movability.h"

#include <string.h>

/* The order is that of consent_of(). */
const char *movability_forbidden(const struct vmi *vmi, const struct node *node,
	const struct cluster *cluster)
{
	if (vmi->consent != CONSENT_UNSET) {
		return vmi->consent == CONSENT_NEVER
			? "an annotation of the VMI forbids it"
			: NULL;
	}
	if (cluster_namespace_consent(cluster, vmi->namespace) ==
		CONSENT_NEVER) {
		return "an annotation of the namespace forbids it";
	}
	return node != NULL && node->consent == CONSENT_NEVER
		? "an annotation of the node forbids it"
		: NULL;
}

/* A pod's annotation names its VM, and people may change it. */
static bool is_pod_of(const struct pod *pod, const struct vmi *vmi)
{
	return strcmp(vmi->namespace, pod->namespace) == 0 &&
		strcmp(vmi->name, pod->vm_name) == 0;
}

/* NULL: the VM runs in this pod and stays there. */
static const char *why_not_there(const struct vmi *vmi, const struct pod *pod)
{
	if (vmi == NULL) {
		return "is unknown to KubeVirt";
	}
	if (!is_pod_of(pod, vmi)) {
		return "has another name in its pod's annotation";
	}
	if (!vmi->is_running || pod->is_provisional) {
		return "is not running";
	}
	if (vmi->is_migrating || pod->is_target) {
		return "is being migrated";
	}
	if (strcmp(vmi->node, pod->node_name) != 0) {
		return "runs on another node";
	}
	if (*vmi->evacuating != '\0' && vmi->is_migratable) {
		return "leaves its node (evacuation)";
	}
	return pod->is_deleting ? "is being deleted" : NULL;
}

static void refuse(struct buffer *why, const char *words, const char *more)
{
	if (why != NULL) {
		buffer_text(why, words);
		buffer_text(why, more);
	}
}

bool movability_check(const struct vmi *vmi, const struct pod *pod,
	const struct node *node, const struct cluster *cluster,
	struct buffer *why)
{
	const char *words = why_not_there(vmi, pod);

	if (words != NULL) {
		refuse(why, words, "");
		return false;
	}
	words = movability_forbidden(vmi, node, cluster);
	if (words != NULL) {
		refuse(why, "must not be moved: ", words);
		return false;
	}
	if (vmi->copies_disks) {
		refuse(why, "would have its disks copied (BlockMigration)", "");
		return false;
	}
	if (!vmi->is_migratable) {
		refuse(why, "cannot be migrated: ",
			*vmi->why_not == '\0' ? "KubeVirt gives no reason"
					      : vmi->why_not);
		return false;
	}
	return true;
}
