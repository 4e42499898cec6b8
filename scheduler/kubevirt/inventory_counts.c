#include "lib/memory.h"
#include "scheduler/kubevirt/inventory_private.h"

#include <string.h>

/* KubeVirt's findRunningMigrations(), 1.7.0 and 1.9.0: the phases from
 * Scheduling on always count, an earlier one only with a VMI and a target pod.
 * A deletion changes nothing. */
static bool takes_slot(const struct inventory *inventory,
	const struct migration *migration)
{
	const struct target_pod *pod;
	const struct vmi *vmi;

	if (migration->phase != MIGRATION_PENDING) {
		return !migration_is_finished(migration);
	}
	pod = target_pods_of(&inventory->pods, migration->uid);
	vmi = pod == NULL ? NULL : inventory_vmi_of(inventory, migration);
	return vmi != NULL && strcmp(pod->vmi_uid, vmi->uid) == 0;
}

static bool is_refused(const struct inventory *inventory,
	const struct migration *migration)
{
	return migration->is_over_quota && !takes_slot(inventory, migration);
}

/* Nodes are left alone for work that began then. */
static bool is_recent(const struct inventory *inventory, uint64_t since_us)
{
	return inventory->now_us < since_us + inventory->others_us;
}

static void count_until(struct inventory *inventory, uint64_t since_us)
{
	uint64_t until_us = since_us + inventory->others_us;

	if (until_us < inventory->counted_until_us) {
		inventory->counted_until_us = until_us;
	}
}

/* False: nothing is left alone for it. */
static bool count_foreign(struct inventory *inventory,
	const struct tracked *tracked, bool takes)
{
	struct node_counters *counters = &inventory->counters;
	const struct migration *m = tracked->migration;
	const struct others_work work = { m->namespace, m->vmi_name, m->name };

	if (!takes && m->is_over_quota) {
		return false; /* it does not start */
	}
	if (!takes && m->is_evacuation) {
		node_counters_drain(counters, m->source);
	}
	if (!is_recent(inventory, tracked->seen_us)) {
		return !takes && m->is_evacuation;
	}
	count_until(inventory, tracked->seen_us);
	node_counters_hold(counters, m->source, m->target, &work);
	if (m->is_evacuation) {
		node_counters_evict(counters, m->source, &work);
	}
	return true;
}

static void count_migration(struct inventory *inventory,
	const struct tracked *tracked)
{
	const struct migration *migration = tracked->migration;
	bool takes = takes_slot(inventory, migration);
	bool matters = takes || migration->is_ours;

	if (migration_is_finished(migration)) {
		return;
	}
	if (matters) {
		node_counters_add(&inventory->counters, migration->source,
			migration->target);
	}
	if (!migration->is_ours) {
		matters |= count_foreign(inventory, tracked, takes);
	}
	inventory->counters.counted += matters;
}

/* KubeVirt evacuates no VM that cannot be migrated, whatever its mark. */
static void count_evacuation(struct inventory *inventory, const struct vmi *vmi)
{
	const struct migration *open =
		inventory_migration_of(inventory, vmi->namespace, vmi->name);
	const struct others_work work = { vmi->namespace, vmi->name, "" };

	if (!vmi->is_migratable ||
		(open != NULL && is_refused(inventory, open))) {
		return;
	}
	inventory->counters.counted++;
	if (open == NULL) {
		node_counters_drain(&inventory->counters, vmi->node);
	}
	if (is_recent(inventory, vmi->busy_us)) {
		count_until(inventory, vmi->busy_us);
		node_counters_evict(&inventory->counters, vmi->node, &work);
	}
}

/* A VMI that migrates without a known migration. */
static void count_unseen(struct inventory *inventory, const struct vmi *vmi)
{
	const struct vmi_migration *last = vmi_last_migration(vmi);
	const char *source = *last->source != '\0' ? last->source : vmi->node;
	const struct others_work work = { vmi->namespace, vmi->name, "" };

	inventory->counters.counted++;
	node_counters_add(&inventory->counters, source, last->target);
	if (is_recent(inventory, vmi->busy_us)) {
		count_until(inventory, vmi->busy_us);
		node_counters_hold(&inventory->counters, source, last->target,
			&work);
	}
}

static void count_vmi(struct inventory *inventory, const struct vmi *vmi)
{
	if (vmi_is_evacuating(vmi)) {
		count_evacuation(inventory, vmi);
	}
	if (vmi->is_migrating &&
		!inventory_tracked(inventory, vmi_last_migration(vmi)->uid)) {
		count_unseen(inventory, vmi);
	}
}

static void count(struct inventory *inventory)
{
	size_t at = 0;
	void *value;

	if (inventory->is_counted) {
		return;
	}
	node_counters_fini(&inventory->counters);
	inventory->counted_until_us = UINT64_MAX;
	while (!node_counters_are_full(&inventory->counters) &&
		map_next(&inventory->migrations, &at, NULL, &value)) {
		count_migration(inventory, value);
	}
	at = 0;
	while (!node_counters_are_full(&inventory->counters) &&
		map_next(&inventory->busy, &at, NULL, &value)) {
		count_vmi(inventory, value);
	}
	inventory->is_counted = true;
}

size_t inventory_unfinished(struct inventory *inventory)
{
	count(inventory);
	return inventory->counters.migrations;
}

size_t inventory_foreign(struct inventory *inventory)
{
	count(inventory);
	return inventory->counters.foreign;
}

struct kubevirt_node inventory_node(struct inventory *inventory,
	const char *name)
{
	count(inventory);
	return node_counters_get(&inventory->counters, name);
}

enum others_state inventory_others_state(const struct inventory *inventory,
	const struct migration *migration)
{
	const struct tracked *tracked =
		inventory_tracked(inventory, migration->uid);

	if (is_refused(inventory, migration)) {
		return OTHERS_OVER_QUOTA;
	}
	return tracked == NULL || is_recent(inventory, tracked->seen_us)
		? OTHERS_GO_FIRST
		: OTHERS_LATE;
}
