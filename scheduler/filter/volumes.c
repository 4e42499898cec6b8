#include "scheduler/filter/volumes.h"

#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "scheduler/filter/csi_drivers.h"
#include "scheduler/filter/volume_limits.h"
#include "scheduler/filter/volume_match.h"

static uint32_t bit(enum volumes_reason reason)
{
	return (uint32_t)1 << reason;
}

static void reset(struct volumes *volumes)
{
	struct topology_counts on_node = volumes->on_node;
	struct topology_counts driver_counts = volumes->driver_counts;
	struct topology_counts added = volumes->added;

	for (size_t i = 0; i < volumes->delayed_count; i++) {
		free(volumes->delayed[i].candidates);
		free(volumes->delayed[i].capacities);
		free(volumes->delayed[i].next);
		free(volumes->delayed[i].unpinned);
		topology_counts_fini(&volumes->delayed[i].pinned);
	}
	free(volumes->refusal);
	free(volumes->bound);
	free(volumes->zoned);
	free(volumes->delayed);
	free(volumes->by_size);
	free(volumes->chosen);
	free(volumes->new_volumes);
	free(volumes->required);
	free(volumes->attached);
	*volumes = (struct volumes){
		.on_node = on_node,
		.driver_counts = driver_counts,
		.added = added,
	};
}

void volumes_fini(struct volumes *volumes)
{
	reset(volumes);
	topology_counts_fini(&volumes->on_node);
	topology_counts_fini(&volumes->driver_counts);
	topology_counts_fini(&volumes->added);
}

/* ---- refusals ---- */

static const struct claim *find(const struct volumes *v,
	const struct pod_claim *claim)
{
	return storage_claim(&v->cluster->storage, v->pod->namespace,
		claim->name);
}

/* VolumeRestrictions runs first. */
static char *missing_claim(const struct volumes *v)
{
	const struct pod_volumes *has = &v->pod->volumes;

	for (size_t i = 0; i < has->claim_count; i++) {
		if (!has->claims[i].is_ephemeral &&
			find(v, &has->claims[i]) == NULL) {
			return xasprintf(
				"persistentvolumeclaim \"%s\" not found",
				has->claims[i].name);
		}
	}
	return NULL;
}

static char *invalid_claim(const struct volumes *v, const struct pod_claim *ref)
{
	const struct claim *claim = find(v, ref);

	if (claim == NULL) {
		return xasprintf(
			"waiting for ephemeral volume controller to create "
			"the persistentvolumeclaim \"%s\"",
			ref->name);
	}
	if (claim->is_lost) {
		return xasprintf(
			"persistentvolumeclaim \"%s\" bound to "
			"non-existent persistentvolume \"%s\"",
			claim->name, claim->volume);
	}
	if (claim->is_deleting) {
		return xasprintf(
			"persistentvolumeclaim \"%s\" is being deleted",
			claim->name);
	}
	if (ref->is_ephemeral &&
		(*claim->owner_uid == '\0' ||
			strcmp(claim->owner_uid, v->pod->uid) != 0)) {
		return xasprintf(
			"PVC %s/%s was not created for pod %s/%s (pod "
			"is not owner)",
			claim->namespace_name, claim->name, v->pod->namespace,
			v->pod->name);
	}
	return NULL;
}

static char *invalid_claims(const struct volumes *v)
{
	const struct pod_volumes *has = &v->pod->volumes;
	char *reason = missing_claim(v);

	for (size_t i = 0; i < has->claim_count && reason == NULL; i++) {
		reason = invalid_claim(v, &has->claims[i]);
	}
	return reason;
}

/* VolumeZone: the volumes of bound claims, unless ephemeral, must exist. */
static char *missing_volume(const struct volumes *v)
{
	const struct pod_volumes *has = &v->pod->volumes;

	for (size_t i = 0; i < has->claim_count; i++) {
		const struct claim *claim = find(v, &has->claims[i]);

		if (!has->claims[i].is_ephemeral && *claim->volume != '\0' &&
			storage_volume(&v->cluster->storage, claim->volume) ==
				NULL) {
			return xasprintf("persistentvolume \"%s\" not found",
				claim->volume);
		}
	}
	return NULL;
}

/* ---- preparation ---- */

static void add_delayed(struct volumes *v, const struct claim *claim,
	const struct storage_class *class)
{
	size_t at = v->delayed_count++;
	struct delayed_claim *delayed = &v->delayed[at];

	*delayed = (struct delayed_claim){ .claim = claim, .class = class };
	/* A stable sort. */
	for (; at > 0 &&
		quantity_compare(claim->size, v->by_size[at - 1]->claim->size) <
			0;
		at--) {
		v->by_size[at] = v->by_size[at - 1];
	}
	v->by_size[at] = delayed;
}

/* False: unbound, and not WaitForFirstConsumer. */
static bool add_claim(struct volumes *v, const struct claim *claim)
{
	const struct storage_class *class =
		storage_class(&v->cluster->storage, claim->class_name);

	if (v->refusal == NULL) {
		v->refusal = storage_unsupported(&v->cluster->storage, claim);
	}
	if (claim->is_bound) {
		v->bound[v->bound_count++] = claim;
		return true;
	}
	if (class == NULL || !class->waits_for_consumer ||
		*claim->volume != '\0') {
		return false;
	}
	add_delayed(v, claim, class);
	return true;
}

static void add_claims(struct volumes *v)
{
	const struct pod_volumes *has = &v->pod->volumes;
	bool is_immediate = false;
	char *refusal;

	for (size_t i = 0; i < has->claim_count; i++) {
		is_immediate |= !add_claim(v, find(v, &has->claims[i]));
	}
	refusal = is_immediate
		? xstrdup("pod has unbound immediate PersistentVolumeClaims")
		: missing_volume(v);
	if (refusal != NULL) {
		free(v->refusal);
		v->refusal = refusal;
	}
}

static void add_zones(struct volumes *v)
{
	const struct pod_volumes *has = &v->pod->volumes;

	for (size_t i = 0; i < has->claim_count; i++) {
		const struct volume *volume = storage_volume(
			&v->cluster->storage, find(v, &has->claims[i])->volume);

		if (!has->claims[i].is_ephemeral && volume != NULL &&
			volume->zone_count > 0) {
			v->zoned[v->zoned_count++] = volume;
		}
	}
}

static bool uses(const struct pod *pod, const char *claim)
{
	for (size_t i = 0; i < pod->volumes.claim_count; i++) {
		if (!pod->volumes.claims[i].is_ephemeral &&
			strcmp(pod->volumes.claims[i].name, claim) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_used_on(const struct volumes *v, const char *claim,
	const struct node *node)
{
	for (size_t i = 0; i < node->pod_count; i++) {
		const struct pod *other = node->pods[i].pod;

		if (other->namespace_id == v->pod->namespace_id &&
			uses(other, claim)) {
			return true;
		}
	}
	return false;
}

static bool is_used(const struct volumes *v, const char *claim)
{
	for (size_t i = 0; i < v->cluster->count; i++) {
		if (is_used_on(v, claim, v->cluster->nodes[i])) {
			return true;
		}
	}
	return false;
}

static bool is_read_write_once_pod(const struct volumes *v,
	const struct pod_claim *ref)
{
	const struct claim *claim = find(v, ref);

	return !ref->is_ephemeral && claim != NULL &&
		(claim->modes & ACCESS_ONE_POD) != 0;
}

static int64_t count_users(const struct volumes *v)
{
	const struct pod_volumes *has = &v->pod->volumes;
	int64_t users = 0;

	for (size_t i = 0; i < has->claim_count; i++) {
		users += is_read_write_once_pod(v, &has->claims[i]) &&
			is_used(v, has->claims[i].name);
	}
	return users;
}

void volumes_count_pod(struct volumes *volumes, const struct pod *pod, int sign)
{
	const struct pod_volumes *has = &volumes->pod->volumes;

	if (volumes->refusal != NULL || !volumes->counts_users) {
		return;
	}
	for (size_t i = 0; i < has->claim_count; i++) {
		if (is_read_write_once_pod(volumes, &has->claims[i]) &&
			uses(pod, has->claims[i].name)) {
			volumes->users += sign;
		}
	}
}

static void find_new_volumes(struct volumes *v)
{
	const struct pod_volumes *has = &v->pod->volumes;

	for (size_t i = 0; i < has->claim_count; i++) {
		struct csi_volume *new = &v->new_volumes[v->new_count];

		if (storage_csi_handle(&v->cluster->storage,
			    find(v, &has->claims[i]), &new->driver,
			    &new->handle)) {
			v->new_count++;
		}
	}
}

void volumes_prepare_places(struct volumes *volumes, const struct pod *pod,
	const struct cluster *cluster)
{
	size_t count = pod->volumes.claim_count;
	struct volumes *v = volumes;

	reset(v);
	v->pod = pod;
	v->cluster = cluster;
	v->is_skipped = count == 0 && pod->volumes.disk_count == 0;
	v->refusal = count > 0 ? invalid_claims(v) : NULL;
	if (v->is_skipped || v->refusal != NULL) {
		return;
	}
	v->bound = xcalloc(count, sizeof(struct claim *));
	v->zoned = xcalloc(count, sizeof(struct volume *));
	v->delayed = xcalloc(count, sizeof(*v->delayed));
	v->by_size = xcalloc(count, sizeof(struct delayed_claim *));
	v->chosen = xcalloc(count, sizeof(struct volume *));
	v->new_volumes = xcalloc(count, sizeof(*v->new_volumes));
	add_claims(v);
	if (v->refusal != NULL) {
		return;
	}
	add_zones(v);
	find_new_volumes(v);
	csi_drivers_prepare(v);
}

void volumes_prepare(struct volumes *volumes, const struct pod *pod,
	const struct cluster *cluster)
{
	struct volumes *v = volumes;

	volumes_prepare_places(v, pod, cluster);
	if (v->is_skipped || v->refusal != NULL) {
		return;
	}
	v->users = count_users(v);
	v->counts_users = v->users > 0 || pod->volumes.disk_count > 0;
	for (size_t i = 0; i < v->delayed_count; i++) {
		volume_match_candidates(&v->delayed[i], &cluster->storage,
			cluster->interner);
	}
	volume_limits_prepare(v);
}

/* ---- one node ---- */

static uint32_t filter_restrictions(const struct volumes *v,
	const struct node *node)
{
	for (size_t i = 0;
		i < node->pod_count && v->pod->volumes.disk_count > 0; i++) {
		if (pod_disks_conflict(&v->pod->volumes,
			    &node->pods[i].pod->volumes)) {
			return bit(VOLUMES_DISK);
		}
	}
	return v->users > 0 ? bit(VOLUMES_IN_USE) : 0;
}

static uint32_t filter_bound(const struct volumes *v, const struct node *node)
{
	for (size_t i = 0; i < v->bound_count; i++) {
		const struct volume *volume = storage_volume(
			&v->cluster->storage, v->bound[i]->volume);

		if (volume == NULL) {
			return bit(VOLUMES_MISSING);
		}
		if (!volume_match_node(volume, node)) {
			return bit(VOLUMES_AFFINITY);
		}
	}
	return 0;
}

static bool is_in_zone(const struct volume_zone *zone, const struct node *node)
{
	uint32_t value = labels_get(&node->labels, zone->wanted.key);

	if (value == 0) {
		value = labels_get(&node->labels, zone->plain_key);
	}
	return requirement_has_value(&zone->wanted, value);
}

static bool is_in_zones(const struct volume *volume, const struct node *node)
{
	for (size_t i = 0; i < volume->zone_count; i++) {
		if (!is_in_zone(&volume->zones[i], node)) {
			return false;
		}
	}
	return true;
}

/* Nodes without zone and region labels match every volume. */
static uint32_t filter_zones(const struct volumes *v, const struct node *node)
{
	if (v->zoned_count == 0 || !node->has_zone) {
		return 0;
	}
	for (size_t i = 0; i < v->zoned_count; i++) {
		if (!is_in_zones(v->zoned[i], node)) {
			return bit(VOLUMES_ZONE);
		}
	}
	return 0;
}

uint32_t volumes_filter_places(const struct volumes *volumes,
	const struct node *node)
{
	uint32_t reasons;

	if (volumes->is_skipped) {
		return 0;
	}
	if (!csi_drivers_are_there(volumes, node)) {
		return bit(VOLUMES_DRIVER);
	}
	reasons = filter_bound(volumes, node);
	return reasons != 0 ? reasons : filter_zones(volumes, node);
}

uint32_t volumes_filter(struct volumes *volumes, const struct node *node)
{
	uint32_t reasons;

	if (volumes->is_skipped) {
		return 0;
	}
	reasons = filter_restrictions(volumes, node);
	if (reasons == 0 && !csi_drivers_are_there(volumes, node)) {
		reasons = bit(VOLUMES_DRIVER);
	}
	if (reasons == 0 && !volume_limits_allow(volumes, node)) {
		reasons = bit(VOLUMES_COUNT);
	}
	if (reasons == 0) {
		reasons = filter_bound(volumes, node) |
			volume_match_delayed(volumes, NULL, node);
	}
	return reasons != 0 ? reasons : filter_zones(volumes, node);
}

void volumes_plan(struct volumes *volumes, struct volume_plan *out,
	const struct node *node)
{
	volume_plan_clear(out);
	if (!volumes->is_skipped) {
		(void)volume_match_delayed(volumes, out, node);
	}
}
