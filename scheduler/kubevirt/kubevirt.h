/* The watches of KubeVirt: the VMIs, their migrations, the limits of
 * migrations; and the orders to KubeVirt.
 *
 * Nothing here decides. The watches run on every replica, orders are given by
 * the leader alone. A cluster without KubeVirt, or without the right to watch,
 * is fine: kubevirt_is_ready() says why. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/kubevirt/migration.h"
#include "scheduler/kubevirt/migration_limits.h"
#include "scheduler/kubevirt/node_counters.h"
#include "scheduler/kubevirt/orders.h"
#include "scheduler/kubevirt/vmi.h"
#include "scheduler/launcher/launcher_settings.h"
#include "scheduler/launcher/next_pod.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct cluster;
struct kube_client;
struct kubevirt;

struct kubevirt_options {
	/* Its nodes and namespaces have labels that orders and policies refer
	 * to. It outlives the watches, as does its interner. NULL: none. */
	const struct cluster *cluster;
	/* Nodes are left alone for so long for a migration or an evacuation of
	 * somebody else; 0: INVENTORY_OTHERS_US. */
	uint64_t others_us;
	/* Any of them may be NULL. None may close the watches.
	 *
	 * A migration changed its phase or is being deleted, or its VMI's
	 * migrationState changed, or the VMI is gone (vmi NULL). Borrowed for
	 * the call. A finished migration of ours may be told again after an
	 * interrupted watch, and at the start. */
	void (*on_migration)(void *owner, const struct migration *migration,
		const struct vmi *vmi);
	/* The object of an unfinished migration, or of one that finished within
	 * the last minute, is gone. */
	void (*on_migration_gone)(void *owner,
		const struct migration *migration);
	/* A VMI appeared or is gone, or it allows its pods something else: see
	 * cache/vm_claims.h. */
	void (*on_vmi)(void *owner, const char *namespace, const char *uid);
	/* The answer to kubevirt_order() and kubevirt_cancel(); error "": it
	 * worked, and name is the migration object's. */
	void (*on_ordered)(void *owner, const char *move_id, const char *name,
		const char *error);
	void *owner;
};

/* client outlives it. Never NULL. */
struct kubevirt *kubevirt_new(struct kube_client *client,
	const struct kubevirt_options *options);
void kubevirt_close(struct kubevirt *kubevirt); /* NULL is fine */

/* To be called every few seconds: logs changes of the watches once. */
void kubevirt_poll(struct kubevirt *kubevirt);

/* The state of all VMIs and migrations, and of the KubeVirt object on which
 * next pods depend, is known as of the last poll. False: appends one sentence
 * why not, such as "virtualmachineinstances are not watched: " and the API
 * server's words. */
bool kubevirt_is_ready(const struct kubevirt *kubevirt, struct buffer *why);

/* Orders are possible: KubeVirt is 1.6 or later, Deployed, and not upgrading,
 * and the account may create and delete migrations (SelfSubjectAccessReviews,
 * repeated every few minutes). False: appends one sentence why not. */
bool kubevirt_may_order(const struct kubevirt *kubevirt, struct buffer *why);

/* All VMIs are known, as of the last poll. */
bool kubevirt_knows_vmis(const struct kubevirt *kubevirt);

const struct vmi *kubevirt_vmi(const struct kubevirt *kubevirt,
	const char *uid); /* NULL: not known */
/* The VMI whose UID the pod's label names, which the pod's author writes, if it
 * is of the pod's namespace; NULL: not known. */
static inline const struct vmi *kubevirt_vmi_of(const struct kubevirt *kubevirt,
	const struct pod *pod)
{
	const struct vmi *vmi = kubevirt_vmi(kubevirt, pod->vmi_uid);

	return vmi != NULL && strcmp(vmi->namespace, pod->namespace) == 0
		? vmi
		: NULL;
}
const struct vmi *kubevirt_vmi_named(const struct kubevirt *kubevirt,
	const char *namespace, const char *name); /* NULL: not known */
/* The unfinished migration of a VMI; NULL: none. */
const struct migration *kubevirt_migration_of(const struct kubevirt *kubevirt,
	const char *namespace, const char *vmi_name);
/* Walks over the migrations that are unfinished or finished within the last
 * minute. *at starts at 0; NULL: no more. */
const struct migration *kubevirt_next_migration(const struct kubevirt *kubevirt,
	size_t *at);
/* The migrations that KubeVirt counts against its limits, and all of ours. An
 * order counts once the watch has delivered its migration. These counts include
 * VMIs that migrate without a known migration. */
size_t kubevirt_unfinished(const struct kubevirt *kubevirt);
/* Migrations of somebody else for which moves stand back: those that are not
 * older than others_us, and may start. */
size_t kubevirt_foreign(const struct kubevirt *kubevirt);
/* migration: an unfinished one that is not ours. */
enum others_state kubevirt_others_state(const struct kubevirt *kubevirt,
	const struct migration *migration);
void kubevirt_node(const struct kubevirt *kubevirt, const char *name,
	struct kubevirt_node *out);
/* vmi: from kubevirt_vmi(). */
void kubevirt_limits(const struct kubevirt *kubevirt, const struct vmi *vmi,
	struct migration_limits *out);
/* Those of the CR alone, for /v1/rebalance. */
void kubevirt_cluster_limits(const struct kubevirt *kubevirt,
	struct migration_limits *out);
/* Those of the CR; KubeVirt's defaults while no CR is known. */
void kubevirt_launcher_settings(const struct kubevirt *kubevirt,
	struct launcher_settings *out);
/* The pod that KubeVirt would create next for the VM that runs in this pod of
 * the cluster: see launcher/next_pod.h. source: labels of its node; NULL: the
 * VM starts again. False: it is not known; appends one sentence why. */
must_check bool kubevirt_next_pod(const struct kubevirt *kubevirt,
	struct next_pod *out, const struct pod *running,
	const struct labels *source, struct buffer *why);
const char *kubevirt_version(const struct kubevirt *kubevirt); /* "": none */

/* A VM's pod exists, or is gone; any launcher pod will do. */
void kubevirt_put_launcher(struct kubevirt *kubevirt, const char *uid,
	const struct json_value *object);
void kubevirt_launcher_gone(struct kubevirt *kubevirt, const char *uid);

/* Creates the migration object. on_ordered() says later what came of it: after
 * a request without an answer, up to ORDERS_UNKNOWN_US later. */
void kubevirt_order(struct kubevirt *kubevirt,
	const struct kubevirt_order *order);
/* Deletes our migration object, also one whose order is still open.
 * on_ordered() says what came of it. */
void kubevirt_cancel(struct kubevirt *kubevirt, const char *move_id);
