#include "scheduler/kubevirt/kubevirt.h"

#include "kube/reflector.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/kubevirt/access.h"
#include "scheduler/kubevirt/inventory.h"
#include "scheduler/kubevirt/kubevirt_version.h"
#include "scheduler/kubevirt/migration_policies.h"
#include "scheduler/kubevirt/watch_status.h"

#include <stdlib.h>
#include <string.h>

#define LOG_AGAIN_US UINT64_C(10000000)
#define SWEEP_US UINT64_C(300000000)

/* In the order of their start: a migration is read with its VMI. */
enum watch { WATCH_VMIS, WATCH_MIGRATIONS, WATCH_KUBEVIRTS, WATCH_POLICIES };
enum { WATCHES = WATCH_POLICIES + 1 };

struct kubevirt {
	struct kube_client *client;
	struct kubevirt_options options;
	struct interner *own_interner; /* NULL: the cluster has one */
	struct cluster empty;
	const struct cluster *cluster;
	/* By pointer: they count, and ask, while they are looked at. */
	struct inventory *inventory;
	struct access *access;
	struct orders *orders;
	struct launcher_templates *templates;
	uint64_t swept_us;
	struct migration_policies policies;
	struct kubevirt_version version;
	char *version_uid; /* of the CR; NULL: none */
	struct reflector *watches[WATCHES];
	struct watch_status status[WATCHES];
	struct log_limit limit;
};

static void on_invalid(struct kubevirt *kubevirt, const struct reflector_id *id,
	const struct error *err)
{
	if (log_allow(&kubevirt->limit, clock_monotonic_us(), LOG_AGAIN_US,
		    NULL)) {
		log_warning("ignoring invalid object of KubeVirt",
			log_str("namespace", id->namespace_name),
			log_str("name", id->name), log_err(err), LOG_END);
	}
}

/* ---- VMIs and migrations ---- */

static void on_vmi(void *owner, const struct reflector_id *id,
	const struct json_value *object)
{
	struct kubevirt *kubevirt = owner;
	struct error err;

	if (inventory_put_vmi(kubevirt->inventory, object, clock_monotonic_us(),
		    &err) < 0) {
		on_invalid(kubevirt, id, &err);
	}
}

static void on_vmi_deleted(void *owner, const struct reflector_id *id)
{
	struct kubevirt *kubevirt = owner;

	inventory_remove_vmi(kubevirt->inventory, id->uid);
}

static void on_migration_object(void *owner, const struct reflector_id *id,
	const struct json_value *object)
{
	struct kubevirt *kubevirt = owner;
	struct error err;

	if (inventory_put_migration(kubevirt->inventory, object,
		    clock_monotonic_us(), &err) < 0) {
		on_invalid(kubevirt, id, &err);
	}
}

static void on_migration_deleted(void *owner, const struct reflector_id *id)
{
	struct kubevirt *kubevirt = owner;

	inventory_remove_migration(kubevirt->inventory, id->uid);
}

static void on_migration(void *owner, const struct migration *migration,
	const struct vmi *vmi)
{
	struct kubevirt *kubevirt = owner;

	if (migration->is_ours) {
		orders_seen(kubevirt->orders, migration);
	}
	if (kubevirt->options.on_migration != NULL) {
		kubevirt->options.on_migration(kubevirt->options.owner,
			migration, vmi);
	}
}

static void on_migration_gone(void *owner, const struct migration *migration)
{
	struct kubevirt *kubevirt = owner;

	if (migration->is_ours) {
		orders_gone(kubevirt->orders, migration);
	}
	if (kubevirt->options.on_migration_gone != NULL) {
		kubevirt->options.on_migration_gone(kubevirt->options.owner,
			migration);
	}
}

static void on_vmi_change(void *owner, const char *namespace, const char *uid)
{
	struct kubevirt *kubevirt = owner;

	if (kubevirt->options.on_vmi != NULL) {
		kubevirt->options.on_vmi(kubevirt->options.owner, namespace,
			uid);
	}
}

static void on_ordered(void *owner, const char *move_id, const char *name,
	const char *error)
{
	struct kubevirt *kubevirt = owner;

	if (kubevirt->options.on_ordered != NULL) {
		kubevirt->options.on_ordered(kubevirt->options.owner, move_id,
			name, error);
	}
}

/* ---- the KubeVirt CR and the policies ---- */

/* KubeVirt deploys one CR and marks others as failed. */
static void on_kubevirt(void *owner, const struct reflector_id *id,
	const struct json_value *object)
{
	struct kubevirt *kubevirt = owner;
	bool is_known = kubevirt->version_uid != NULL &&
		strcmp(kubevirt->version_uid, id->uid) == 0;

	if (kubevirt->version_uid == NULL || is_known ||
		!kubevirt->version.is_deployed) {
		kubevirt_version_read(&kubevirt->version, object);
		xreplace(&kubevirt->version_uid, id->uid);
	}
}

static void forget_version(struct kubevirt *kubevirt)
{
	kubevirt->version = (struct kubevirt_version){
		.limits = migration_limits_default,
		.launcher = launcher_settings_default,
	};
	xreplace(&kubevirt->version_uid, NULL);
}

static void on_kubevirt_deleted(void *owner, const struct reflector_id *id)
{
	struct kubevirt *kubevirt = owner;

	if (kubevirt->version_uid != NULL &&
		strcmp(kubevirt->version_uid, id->uid) == 0) {
		forget_version(kubevirt);
	}
}

static void on_policy(void *owner, const struct reflector_id *id,
	const struct json_value *object)
{
	struct kubevirt *kubevirt = owner;
	struct error err;

	if (migration_policies_put(&kubevirt->policies, object, &err) < 0) {
		migration_policies_remove(&kubevirt->policies, id->name);
		on_invalid(kubevirt, id, &err);
	}
}

static void on_policy_deleted(void *owner, const struct reflector_id *id)
{
	struct kubevirt *kubevirt = owner;

	migration_policies_remove(&kubevirt->policies, id->name);
}

/* ---- watches ---- */

static void on_synced(void *owner)
{
	(void)owner;
}

static const struct {
	const char *path, *resource;
	void (*on_object)(void *owner, const struct reflector_id *id,
		const struct json_value *object);
	void (*on_deleted)(void *owner, const struct reflector_id *id);
} kinds[WATCHES] = {
	[WATCH_VMIS] = { "/apis/kubevirt.io/v1/virtualmachineinstances",
		"virtualmachineinstances", on_vmi, on_vmi_deleted },
	[WATCH_MIGRATIONS] = { "/apis/kubevirt.io/v1/"
			       "virtualmachineinstancemigrations",
		"virtualmachineinstancemigrations", on_migration_object,
		on_migration_deleted },
	[WATCH_KUBEVIRTS] = { "/apis/kubevirt.io/v1/kubevirts", "kubevirts",
		on_kubevirt, on_kubevirt_deleted },
	[WATCH_POLICIES] = { "/apis/migrations.kubevirt.io/v1alpha1/"
			     "migrationpolicies",
		"migrationpolicies", on_policy, on_policy_deleted },
};

static void start_watch(struct kubevirt *kubevirt, enum watch watch,
	void (*synced)(void *owner))
{
	const struct reflector_handler handler = { kinds[watch].on_object,
		kinds[watch].on_deleted, synced, kubevirt };

	kubevirt->watches[watch] = reflector_new(kubevirt->client,
		&(struct reflector_options){ .path = kinds[watch].path },
		&handler);
}

static void on_vmis_synced(void *owner)
{
	start_watch(owner, WATCH_MIGRATIONS, on_synced);
}

static void set_cluster(struct kubevirt *kubevirt)
{
	kubevirt->cluster = kubevirt->options.cluster;
	if (kubevirt->cluster == NULL) {
		kubevirt->own_interner = interner_new();
		cluster_init(&kubevirt->empty, kubevirt->own_interner);
		kubevirt->cluster = &kubevirt->empty;
	}
	kubevirt->policies.interner = kubevirt->cluster->interner;
}

struct kubevirt *kubevirt_new(struct kube_client *client,
	const struct kubevirt_options *options)
{
	struct kubevirt *kubevirt = xcalloc(1, sizeof(*kubevirt));

	kubevirt->client = client;
	kubevirt->options = *options;
	set_cluster(kubevirt);
	forget_version(kubevirt);
	kubevirt->inventory = xcalloc(1, sizeof(*kubevirt->inventory));
	inventory_init(kubevirt->inventory, kubevirt->cluster,
		&(struct inventory_handler){ on_migration, on_migration_gone,
			on_vmi_change, kubevirt });
	if (options->others_us != 0) {
		kubevirt->inventory->others_us = options->others_us;
	}
	kubevirt->templates = xcalloc(1, sizeof(*kubevirt->templates));
	kubevirt->templates->interner = kubevirt->cluster->interner;
	kubevirt->access = access_new(client);
	kubevirt->orders = orders_new(client, on_ordered, kubevirt);
	for (int i = 0; i < WATCHES; i++) {
		kubevirt->status[i].resource = kinds[i].resource;
	}
	start_watch(kubevirt, WATCH_VMIS, on_vmis_synced);
	start_watch(kubevirt, WATCH_KUBEVIRTS, on_synced);
	start_watch(kubevirt, WATCH_POLICIES, on_synced);
	return kubevirt;
}

void kubevirt_close(struct kubevirt *kubevirt)
{
	if (kubevirt == NULL) {
		return;
	}
	for (int i = 0; i < WATCHES; i++) {
		reflector_close(kubevirt->watches[i]);
	}
	orders_close(kubevirt->orders);
	access_close(kubevirt->access);
	launcher_templates_fini(kubevirt->templates);
	free(kubevirt->templates);
	inventory_fini(kubevirt->inventory);
	free(kubevirt->inventory);
	migration_policies_fini(&kubevirt->policies);
	free(kubevirt->version_uid);
	if (kubevirt->own_interner != NULL) {
		cluster_fini(&kubevirt->empty);
		interner_free(kubevirt->own_interner);
	}
	free(kubevirt);
}

void kubevirt_poll(struct kubevirt *kubevirt)
{
	uint64_t now_us = clock_monotonic_us();
	bool is_watching = false;

	for (int i = 0; i < WATCHES; i++) {
		struct reflector_state state;

		if (kubevirt->watches[i] == NULL) {
			continue;
		}
		state = reflector_state(kubevirt->watches[i]);
		watch_status_poll(&kubevirt->status[i], &state, now_us);
		is_watching |= i == WATCH_MIGRATIONS && state.is_watching;
	}
	inventory_expire(kubevirt->inventory, now_us);
	if (now_us - kubevirt->swept_us > SWEEP_US) {
		kubevirt->swept_us = now_us;
		launcher_templates_sweep(kubevirt->templates);
	}
	access_poll(kubevirt->access, now_us);
	orders_poll(kubevirt->orders, is_watching, now_us);
}

/* ---- target pods ---- */

void kubevirt_put_launcher(struct kubevirt *kubevirt, const char *uid,
	const struct json_value *object)
{
	struct target_pod pod;

	if (target_pod_read(&pod, object)) {
		inventory_put_pod(kubevirt->inventory, uid, &pod);
	} else {
		inventory_remove_pod(kubevirt->inventory, uid);
	}
}

void kubevirt_launcher_gone(struct kubevirt *kubevirt, const char *uid)
{
	inventory_remove_pod(kubevirt->inventory, uid);
}

/* ---- what others ask ---- */

bool kubevirt_is_ready(const struct kubevirt *kubevirt, struct buffer *why)
{
	return watch_status_is_running(&kubevirt->status[WATCH_VMIS], why) &&
		watch_status_is_running(&kubevirt->status[WATCH_MIGRATIONS],
			why) &&
		watch_status_is_running(&kubevirt->status[WATCH_KUBEVIRTS],
			why);
}

bool kubevirt_knows_vmis(const struct kubevirt *kubevirt)
{
	return kubevirt->status[WATCH_VMIS].is_running;
}

bool kubevirt_may_order(const struct kubevirt *kubevirt, struct buffer *why)
{
	return watch_status_is_running(&kubevirt->status[WATCH_KUBEVIRTS],
		       why) &&
		kubevirt_version_may_order(&kubevirt->version, why) &&
		access_is_allowed(kubevirt->access, why);
}

const struct vmi *kubevirt_vmi(const struct kubevirt *kubevirt, const char *uid)
{
	return inventory_vmi(kubevirt->inventory, uid);
}

const struct vmi *kubevirt_vmi_named(const struct kubevirt *kubevirt,
	const char *namespace, const char *name)
{
	scoped_free char *key = xasprintf("%s/%s", namespace, name);

	return map_get(&kubevirt->inventory->vmi_names, key);
}

const struct migration *kubevirt_migration_of(const struct kubevirt *kubevirt,
	const char *namespace, const char *vmi_name)
{
	return inventory_migration_of(kubevirt->inventory, namespace, vmi_name);
}

const struct migration *kubevirt_next_migration(const struct kubevirt *kubevirt,
	size_t *at)
{
	return inventory_next_migration(kubevirt->inventory, at);
}

size_t kubevirt_unfinished(const struct kubevirt *kubevirt)
{
	return inventory_unfinished(kubevirt->inventory);
}

size_t kubevirt_foreign(const struct kubevirt *kubevirt)
{
	return inventory_foreign(kubevirt->inventory);
}

enum others_state kubevirt_others_state(const struct kubevirt *kubevirt,
	const struct migration *migration)
{
	return inventory_others_state(kubevirt->inventory, migration);
}

void kubevirt_node(const struct kubevirt *kubevirt, const char *name,
	struct kubevirt_node *out)
{
	*out = inventory_node(kubevirt->inventory, name);
}

void kubevirt_limits(const struct kubevirt *kubevirt, const struct vmi *vmi,
	struct migration_limits *out)
{
	*out = kubevirt->version.limits;
	migration_policies_apply(&kubevirt->policies, out, &vmi->labels,
		cluster_namespace_labels(kubevirt->cluster, vmi->namespace));
}

void kubevirt_cluster_limits(const struct kubevirt *kubevirt,
	struct migration_limits *out)
{
	*out = kubevirt->version.limits;
}

void kubevirt_launcher_settings(const struct kubevirt *kubevirt,
	struct launcher_settings *out)
{
	*out = kubevirt->version.launcher;
}

bool kubevirt_next_pod(const struct kubevirt *kubevirt, struct next_pod *out,
	const struct pod *running, const struct labels *source,
	struct buffer *why)
{
	const struct vmi *vmi = kubevirt_vmi_of(kubevirt, running);

	*out = (struct next_pod){ 0 };
	if (*kubevirt->version.text == '\0') {
		buffer_text(why, "KubeVirt is not known to be installed");
		return false;
	}
	return next_pod_derive(out, kubevirt->templates,
		&(const struct next_pod_question){
			.vm = vmi == NULL ? NULL : &vmi->launcher,
			.settings = &kubevirt->version.launcher,
			.running = running,
			.source = source },
		why);
}

const char *kubevirt_version(const struct kubevirt *kubevirt)
{
	return kubevirt->version.text;
}

/* ---- orders ---- */

void kubevirt_order(struct kubevirt *kubevirt,
	const struct kubevirt_order *order)
{
	orders_create(kubevirt->orders, order);
}

void kubevirt_cancel(struct kubevirt *kubevirt, const char *move_id)
{
	orders_delete(kubevirt->orders, move_id,
		inventory_migration_for(kubevirt->inventory, move_id));
}
