#include "scheduler/kubevirt/inventory.h"

#include "lib/memory.h"
#include "scheduler/kubevirt/inventory_private.h"

#include <stdlib.h>
#include <string.h>

void inventory_init(struct inventory *inventory, const struct cluster *cluster,
	const struct inventory_handler *handler)
{
	*inventory = (struct inventory){
		.interner = cluster->interner,
		.cluster = cluster,
		.handler = *handler,
		.others_us = INVENTORY_OTHERS_US,
		.vmis.borrows_keys = true,
	};
}

static void tracked_free(struct tracked *tracked)
{
	if (tracked != NULL) {
		migration_free(tracked->migration);
		free(tracked);
	}
}

void inventory_fini(struct inventory *inventory)
{
	size_t at = 0;
	void *value;

	while (map_next(&inventory->vmis, &at, NULL, &value)) {
		vmi_free(value, inventory->interner);
	}
	at = 0;
	while (map_next(&inventory->migrations, &at, NULL, &value)) {
		tracked_free(value);
	}
	map_fini(&inventory->vmis);
	map_fini(&inventory->vmi_names);
	map_fini(&inventory->busy);
	map_fini(&inventory->migrations);
	map_fini(&inventory->unfinished);
	target_pods_fini(&inventory->pods);
	node_counters_fini(&inventory->counters);
}

/* The caller frees it. */
static char *key_of_vmi(const struct migration *migration)
{
	return xasprintf("%s/%s", migration->namespace, migration->vmi_name);
}

const struct vmi *inventory_vmi_of(const struct inventory *inventory,
	const struct migration *migration)
{
	scoped_free char *key = key_of_vmi(migration);

	return map_get(&inventory->vmi_names, key);
}

static void tell(struct inventory *inventory, const struct migration *migration)
{
	if (inventory->handler.on_migration != NULL) {
		inventory->handler.on_migration(inventory->handler.owner,
			migration, inventory_vmi_of(inventory, migration));
	}
}

/* ---- the nodes of a migration ---- */

static const char *node_of_hostname(const struct inventory *inventory,
	const char *hostname)
{
	const struct node *node =
		cluster_node_of_host(inventory->cluster, hostname);

	return node == NULL ? hostname : node->name;
}

static const char *first_of(const char *a, const char *b)
{
	return *a != '\0' ? a : b;
}

/* Sets source and target as far as they can be known: the VMI's state once
 * KubeVirt hands off, before that the VMI's node, and the wanted host or the
 * node of the target pod. */
static void find_nodes(struct inventory *inventory, struct migration *migration)
{
	const struct vmi *vmi = inventory_vmi_of(inventory, migration);
	const struct vmi_migration *state =
		vmi_migration_state(vmi, migration->uid);
	const struct target_pod *pod =
		target_pods_of(&inventory->pods, migration->uid);
	const char *source = migration->source, *target = migration->target;

	if (*source == '\0' && vmi != NULL &&
		!migration_is_finished(migration)) {
		source = vmi->node;
	}
	if (*target == '\0' && *migration->hostname != '\0') {
		target = node_of_hostname(inventory, migration->hostname);
	}
	if (*target == '\0' && pod != NULL) {
		target = pod->node;
	}
	migration_set_nodes(migration, first_of(state->source, source),
		first_of(state->target, target));
}

/* ---- migrations ---- */

static void add_unfinished(struct inventory *inventory, struct tracked *tracked)
{
	scoped_free char *key = key_of_vmi(tracked->migration);

	if (!migration_is_finished(tracked->migration)) {
		tracked->next = map_put(&inventory->unfinished, key, tracked);
	}
}

static void remove_unfinished(struct inventory *inventory,
	struct tracked *tracked)
{
	scoped_free char *key = key_of_vmi(tracked->migration);
	struct tracked *before = map_get(&inventory->unfinished, key);

	if (before == tracked && tracked->next == NULL) {
		(void)map_remove(&inventory->unfinished, key);
	} else if (before == tracked) {
		(void)map_put(&inventory->unfinished, key, tracked->next);
	}
	while (before != NULL && before->next != tracked) {
		before = before->next;
	}
	if (before != NULL) {
		before->next = tracked->next;
	}
	tracked->next = NULL;
}

/* A finished migration that was not known to be unfinished: ours may have been
 * ordered by an earlier leader. Its VMI may still have to tell more. */
static bool is_worth_tracking(const struct inventory *inventory,
	const struct migration *migration)
{
	const struct vmi *vmi = inventory_vmi_of(inventory, migration);

	return migration->is_ours && vmi != NULL && vmi->is_migrating &&
		strcmp(vmi_last_migration(vmi)->uid, migration->uid) == 0;
}

/* Takes fresh. */
static void replace(struct inventory *inventory, struct tracked *tracked,
	struct migration *fresh, uint64_t now_us)
{
	struct migration *old = tracked->migration;
	bool has_changed = old == NULL || old->phase != fresh->phase ||
		old->is_deleting != fresh->is_deleting;

	if (old != NULL) {
		migration_set_nodes(fresh, first_of(fresh->source, old->source),
			first_of(fresh->target, old->target));
		remove_unfinished(inventory, tracked);
	}
	tracked->migration = fresh;
	find_nodes(inventory, fresh);
	add_unfinished(inventory, tracked);
	migration_free(old);
	if (!migration_is_finished(fresh)) {
		tracked->finished_us = 0; /* again, after a restored backup */
	} else if (tracked->finished_us == 0) {
		tracked->finished_us = now_us;
	}
	inventory->is_counted = false;
	if (has_changed) {
		tell(inventory, fresh);
	}
}

int inventory_put_migration(struct inventory *inventory,
	const struct json_value *object, uint64_t now_us, struct error *err)
{
	struct migration *fresh = NULL;
	struct tracked *tracked;
	int r = migration_read(&fresh, object, err);

	inventory->now_us = now_us;
	if (r < 0) {
		inventory_remove_migration(inventory,
			json_value_text_at(object, "metadata/uid", ""));
		return r;
	}
	tracked = inventory_tracked(inventory, fresh->uid);
	if (tracked == NULL && migration_is_finished(fresh) &&
		!is_worth_tracking(inventory, fresh)) {
		if (fresh->is_ours) {
			find_nodes(inventory, fresh);
			tell(inventory, fresh);
		}
		migration_free(fresh);
		return 0;
	}
	if (tracked == NULL) {
		tracked = xcalloc(1, sizeof(*tracked));
		tracked->seen_us = now_us;
		(void)map_put(&inventory->migrations, fresh->uid, tracked);
	}
	replace(inventory, tracked, fresh, now_us);
	return 0;
}

void inventory_remove_migration(struct inventory *inventory, const char *uid)
{
	struct tracked *tracked = map_remove(&inventory->migrations, uid);

	if (tracked == NULL) {
		return;
	}
	remove_unfinished(inventory, tracked);
	inventory->is_counted = false;
	if (inventory->handler.on_migration_gone != NULL) {
		inventory->handler.on_migration_gone(inventory->handler.owner,
			tracked->migration);
	}
	tracked_free(tracked);
}

void inventory_expire(struct inventory *inventory, uint64_t now_us)
{
	size_t at = 0;
	const char *uid;
	void *value;

	inventory->now_us = now_us;
	inventory->is_counted &= now_us < inventory->counted_until_us;
	while (map_next(&inventory->migrations, &at, &uid, &value)) {
		struct tracked *tracked = value;

		if (tracked->finished_us != 0 &&
			now_us - tracked->finished_us >= INVENTORY_SETTLE_US) {
			(void)map_remove(&inventory->migrations, uid);
			tracked_free(tracked);
			inventory->is_counted = false;
		}
	}
}

/* ---- VMIs ---- */

static void tell_vmi(struct inventory *inventory, const struct vmi *vmi)
{
	if (inventory->handler.on_vmi != NULL) {
		inventory->handler.on_vmi(inventory->handler.owner,
			vmi->namespace, vmi->uid);
	}
}

/* Removes the VMI from all maps but the first. */
static void unlink_vmi(struct inventory *inventory, const struct vmi *vmi)
{
	scoped_free char *key = xasprintf("%s/%s", vmi->namespace, vmi->name);

	(void)map_remove(&inventory->busy, vmi->uid);
	if (map_get(&inventory->vmi_names, key) == vmi) {
		(void)map_remove(&inventory->vmi_names, key);
	}
}

static void link_vmi(struct inventory *inventory, struct vmi *vmi)
{
	scoped_free char *key = xasprintf("%s/%s", vmi->namespace, vmi->name);

	(void)map_put(&inventory->vmi_names, key, vmi);
	if (vmi->is_migrating || vmi_is_evacuating(vmi)) {
		(void)map_put(&inventory->busy, vmi->uid, vmi);
		inventory->is_counted = false;
	}
}

/* The VMI's migration: the one that its state names, and the unfinished one. */
static void follow_migration(struct inventory *inventory, const struct vmi *vmi,
	bool has_changed)
{
	scoped_free char *key = xasprintf("%s/%s", vmi->namespace, vmi->name);
	struct tracked *current =
		inventory_tracked(inventory, vmi_last_migration(vmi)->uid);
	struct tracked *open = map_get(&inventory->unfinished, key);

	if (open != NULL) {
		find_nodes(inventory, open->migration);
		inventory->is_counted = false;
	}
	if (current == NULL) {
		return;
	}
	find_nodes(inventory, current->migration);
	inventory->is_counted = false;
	if (has_changed) {
		tell(inventory, current->migration);
	}
}

/* Since when the VMI is busy in this way. An evacuation that fails is tried
 * again and again, and stays the same one. */
static uint64_t busy_since(const struct vmi *vmi, const struct vmi *old,
	uint64_t now_us)
{
	bool is_same = old != NULL &&
		vmi_is_evacuating(old) == vmi_is_evacuating(vmi) &&
		(vmi_is_evacuating(vmi) ||
			strcmp(vmi_last_migration(old)->uid,
				vmi_last_migration(vmi)->uid) == 0);

	return is_same ? old->busy_us : now_us;
}

int inventory_put_vmi(struct inventory *inventory,
	const struct json_value *object, uint64_t now_us, struct error *err)
{
	struct vmi *fresh = NULL, *old;
	bool has_changed, has_same_pods;
	int r = vmi_read(&fresh, inventory->interner, object, err);

	inventory->now_us = now_us;
	if (r < 0) {
		inventory_remove_vmi(inventory,
			json_value_text_at(object, "metadata/uid", ""));
		return r;
	}
	old = map_put(&inventory->vmis, fresh->uid, fresh);
	fresh->busy_us = busy_since(fresh, old, now_us);
	has_changed = old == NULL || !vmi_has_same_migration(old, fresh);
	has_same_pods = old != NULL && vmi_has_same_pods(old, fresh);
	if (old != NULL) {
		inventory->is_counted = inventory->is_counted &&
			map_get(&inventory->busy, old->uid) == NULL;
		unlink_vmi(inventory, old);
		vmi_free(old, inventory->interner);
	}
	link_vmi(inventory, fresh);
	follow_migration(inventory, fresh, has_changed);
	if (!has_same_pods) {
		tell_vmi(inventory, fresh);
	}
	return 0;
}

void inventory_remove_vmi(struct inventory *inventory, const char *uid)
{
	struct vmi *vmi = map_remove(&inventory->vmis, uid);
	scoped_free char *key = NULL;
	const struct tracked *open;

	if (vmi == NULL) {
		return;
	}
	unlink_vmi(inventory, vmi);
	inventory->is_counted = false;
	key = xasprintf("%s/%s", vmi->namespace, vmi->name);
	open = map_get(&inventory->unfinished, key);
	tell_vmi(inventory, vmi);
	vmi_free(vmi, inventory->interner);
	if (open != NULL) {
		tell(inventory, open->migration);
	}
}

/* ---- target pods ---- */

static void follow_pod(struct inventory *inventory, const char *migration_uid)
{
	struct tracked *tracked = inventory_tracked(inventory, migration_uid);

	inventory->is_counted = false;
	if (tracked != NULL) {
		find_nodes(inventory, tracked->migration);
	}
}

void inventory_put_pod(struct inventory *inventory, const char *uid,
	const struct target_pod *pod)
{
	if (target_pods_put(&inventory->pods, uid, pod)) {
		follow_pod(inventory, pod->migration_uid);
	}
}

void inventory_remove_pod(struct inventory *inventory, const char *uid)
{
	if (target_pods_remove(&inventory->pods, uid)) {
		inventory->is_counted = false;
	}
}

/* ---- look-ups ---- */

const struct vmi *inventory_vmi(const struct inventory *inventory,
	const char *uid)
{
	return map_get(&inventory->vmis, uid);
}

const struct migration *inventory_migration_of(
	const struct inventory *inventory, const char *namespace,
	const char *vmi_name)
{
	scoped_free char *key = xasprintf("%s/%s", namespace, vmi_name);
	const struct tracked *found = map_get(&inventory->unfinished, key);

	return found == NULL ? NULL : found->migration;
}

const struct migration *inventory_migration_for(
	const struct inventory *inventory, const char *move_id)
{
	size_t at = 0;
	const struct migration *found;

	while ((found = inventory_next_migration(inventory, &at)) != NULL) {
		if (found->is_ours && strcmp(found->move_id, move_id) == 0) {
			return found;
		}
	}
	return NULL;
}

const struct migration *inventory_next_migration(
	const struct inventory *inventory, size_t *at)
{
	void *value;

	return map_next(&inventory->migrations, at, NULL, &value)
		? ((struct tracked *)value)->migration
		: NULL;
}
