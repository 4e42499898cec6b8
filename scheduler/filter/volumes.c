#include "scheduler/filter/volumes.h"

#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "scheduler/filter/volume_limits.h"
#include "scheduler/filter/volume_match.h"

static uint32_t bit(enum volumes_reason reason)
{
	return (uint32_t)1 << reason;
}

static void clear(struct volumes *volumes)
{
	struct pairs here = volumes->here;
	struct pairs counts = volumes->counts;
	struct pairs more = volumes->more;

	for (size_t i = 0; i < volumes->delayed_count; i++) {
		free(volumes->delayed[i].candidates);
		free(volumes->delayed[i].rooms);
		free(volumes->delayed[i].next);
		free(volumes->delayed[i].loose);
		pairs_fini(&volumes->delayed[i].pinned);
	}
	free(volumes->refusal);
	free(volumes->bound);
	free(volumes->zoned);
	free(volumes->delayed);
	free(volumes->by_size);
	free(volumes->chosen);
	free(volumes->fresh);
	free(volumes->attached);
	*volumes = (struct volumes){
		.here = here,
		.counts = counts,
		.more = more,
	};
}

void volumes_fini(struct volumes *volumes)
{
	clear(volumes);
	pairs_fini(&volumes->here);
	pairs_fini(&volumes->counts);
	pairs_fini(&volumes->more);
}

/* ---- what is wrong whatever the node ---- */

static char *unsupported(const char *what)
{
	return xasprintf(
		"pod has a claim on %s, which plimsoll-scheduler does "
		"not support",
		what);
}

static struct claim *find(const struct volumes *v,
	const struct pod_claim *claim)
{
	return storage_claim(&v->cluster->storage, v->pod->namespace,
		claim->name);
}

/* VolumeRestrictions, which comes first. */
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

static char *wrong_claim(const struct volumes *v,
	const struct pod_claim *wanted)
{
	const struct claim *claim = find(v, wanted);

	if (claim == NULL) {
		return xasprintf(
			"waiting for ephemeral volume controller to create "
			"the persistentvolumeclaim \"%s\"",
			wanted->name);
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
	if (wanted->is_ephemeral &&
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

static char *wrong_claims(const struct volumes *v)
{
	const struct pod_volumes *has = &v->pod->volumes;
	char *wrong = missing_claim(v);

	for (size_t i = 0; i < has->claim_count && wrong == NULL; i++) {
		wrong = wrong_claim(v, &has->claims[i]);
	}
	return wrong;
}

/* VolumeZone: a bound volume must be there, but for ephemeral claims. */
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

/* ---- preparing ---- */

static void add_bound(struct volumes *v, const struct claim *claim)
{
	const struct volume *volume =
		storage_volume(&v->cluster->storage, claim->volume);

	v->bound[v->bound_count++] = claim;
	if (volume != NULL && volume->migrated != NULL && v->refusal == NULL) {
		scoped_free char *what =
			xasprintf("a volume of type %s", volume->migrated);

		v->refusal = unsupported(what);
	}
}

static void add_delayed(struct volumes *v, struct claim *claim,
	const struct storage_class *class)
{
	size_t at = v->delayed_count++;
	struct delayed_claim *delayed = &v->delayed[at];

	*delayed = (struct delayed_claim){ .claim = claim, .class = class };
	/* Equal ones as the pod has them. */
	for (; at > 0 &&
		quantity_compare(claim->size, v->by_size[at - 1]->claim->size) <
			0;
		at--) {
		v->by_size[at] = v->by_size[at - 1];
	}
	v->by_size[at] = delayed;
}

/* False: it is unbound and its class does not wait for a pod. */
static bool take_claim(struct volumes *v, struct claim *claim)
{
	const struct storage_class *class =
		storage_class(&v->cluster->storage, claim->class_name);

	if (claim->is_bound) {
		add_bound(v, claim);
		return true;
	}
	if (class == NULL || !class->waits || *claim->volume != '\0') {
		return false;
	}
	add_delayed(v, claim, class);
	if (class->is_migrated && v->refusal == NULL) {
		scoped_free char *what =
			xasprintf("a class of %s", class->provisioner);

		v->refusal = unsupported(what);
	}
	return true;
}

static void take_claims(struct volumes *v)
{
	const struct pod_volumes *has = &v->pod->volumes;
	bool is_immediate = false;
	char *refusal;

	for (size_t i = 0; i < has->claim_count; i++) {
		is_immediate |= !take_claim(v, find(v, &has->claims[i]));
	}
	refusal = is_immediate
		? xstrdup("pod has unbound immediate PersistentVolumeClaims")
		: missing_volume(v);
	if (refusal != NULL) {
		free(v->refusal);
		v->refusal = refusal;
	}
}

static void take_zones(struct volumes *v)
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
	for (size_t i = 0; i < node->guest_count; i++) {
		const struct pod *guest = node->guests[i].pod;

		if (guest->namespace_id == v->pod->namespace_id &&
			uses(guest, claim)) {
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

static bool is_for_one_pod(const struct volumes *v,
	const struct pod_claim *wanted)
{
	const struct claim *claim = find(v, wanted);

	return !wanted->is_ephemeral && claim != NULL &&
		(claim->modes & ACCESS_ONE_POD) != 0;
}

static int64_t count_users(const struct volumes *v)
{
	const struct pod_volumes *has = &v->pod->volumes;
	int64_t users = 0;

	for (size_t i = 0; i < has->claim_count; i++) {
		users += is_for_one_pod(v, &has->claims[i]) &&
			is_used(v, has->claims[i].name);
	}
	return users;
}

void volumes_count_pod(struct volumes *volumes, const struct pod *pod, int sign)
{
	const struct pod_volumes *has = &volumes->pod->volumes;

	if (volumes->refusal != NULL || !volumes->asks_for_users) {
		return;
	}
	for (size_t i = 0; i < has->claim_count; i++) {
		if (is_for_one_pod(volumes, &has->claims[i]) &&
			uses(pod, has->claims[i].name)) {
			volumes->users += sign;
		}
	}
}

static void take_fresh(struct volumes *v)
{
	const struct pod_volumes *has = &v->pod->volumes;

	for (size_t i = 0; i < has->claim_count; i++) {
		struct csi_volume *fresh = &v->fresh[v->fresh_count];

		if (storage_identify(&v->cluster->storage,
			    find(v, &has->claims[i]), &fresh->driver,
			    &fresh->handle)) {
			v->fresh_count++;
		}
	}
}

void volumes_prepare(struct volumes *volumes, const struct pod *pod,
	const struct cluster *cluster)
{
	size_t count = pod->volumes.claim_count;
	struct volumes *v = volumes;

	clear(v);
	v->pod = pod;
	v->cluster = cluster;
	v->is_idle = count == 0 && pod->volumes.disk_count == 0;
	v->refusal = count > 0 ? wrong_claims(v) : NULL;
	if (v->is_idle || v->refusal != NULL) {
		return;
	}
	v->bound = xcalloc(count, sizeof(struct claim *));
	v->zoned = xcalloc(count, sizeof(struct volume *));
	v->delayed = xcalloc(count, sizeof(*v->delayed));
	v->by_size = xcalloc(count, sizeof(struct delayed_claim *));
	v->chosen = xcalloc(count, sizeof(struct volume *));
	v->fresh = xcalloc(count, sizeof(*v->fresh));
	take_claims(v);
	if (v->refusal != NULL) {
		return;
	}
	take_zones(v);
	take_fresh(v);
	v->users = count_users(v);
	v->asks_for_users = v->users > 0 || pod->volumes.disk_count > 0;
	for (size_t i = 0; i < v->delayed_count; i++) {
		volume_match_candidates(&v->delayed[i], &cluster->storage,
			cluster->names);
	}
	volume_limits_prepare(v);
}

/* ---- one node ---- */

static uint32_t filter_restrictions(const struct volumes *v,
	const struct node *node)
{
	for (size_t i = 0;
		i < node->guest_count && v->pod->volumes.disk_count > 0; i++) {
		if (pod_disks_conflict(&v->pod->volumes,
			    &node->guests[i].pod->volumes)) {
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
	uint32_t value = labels_get(&node->labels, zone->key);

	if (value == 0) {
		value = labels_get(&node->labels, zone->plain_key);
	}
	for (size_t i = 0; i < zone->value_count; i++) {
		if (zone->values[i] == value) {
			return true;
		}
	}
	return false;
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

/* A node without any of the labels is anywhere. */
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

uint32_t volumes_filter(struct volumes *volumes, const struct node *node)
{
	uint32_t reasons;

	if (volumes->is_idle) {
		return 0;
	}
	reasons = filter_restrictions(volumes, node);
	if (reasons == 0 && !volume_limits_hold(volumes, node)) {
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
	if (!volumes->is_idle) {
		(void)volume_match_delayed(volumes, out, node);
	}
}

const char *volumes_reason_text(enum volumes_reason reason)
{
	static const char in_use[] =
		"node(s) unavailable due to PersistentVolumeClaim with "
		"ReadWriteOncePod access mode already in-use by another pod";
	static const char missing[] =
		"node(s) unavailable due to one or more pvc(s) bound to "
		"non-existent pv(s)";
	static const char *const texts[] = {
		[VOLUMES_DISK] = "node(s) had no available disk",
		[VOLUMES_IN_USE] = in_use,
		[VOLUMES_COUNT] = "node(s) exceed max volume count",
		[VOLUMES_AFFINITY] =
			"node(s) didn't match PersistentVolume's "
			"node affinity",
		[VOLUMES_NONE] =
			"node(s) didn't find available persistent "
			"volumes to bind",
		[VOLUMES_SPACE] = "node(s) did not have enough free storage",
		[VOLUMES_MISSING] = missing,
		[VOLUMES_ZONE] = "node(s) had no available volume zone",
	};

	return texts[reason];
}
