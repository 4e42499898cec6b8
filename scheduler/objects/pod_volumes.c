#include "scheduler/objects/pod_volumes.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/memory.h"

static void disk_fini(struct pod_disk *disk, struct interner *interner)
{
	interner_drop(interner, disk->name);
	interner_drop(interner, disk->pool);
	for (size_t i = 0; i < disk->monitor_count; i++) {
		interner_drop(interner, disk->monitors[i]);
	}
	free(disk->monitors);
}

static int read_rbd(struct pod_disk *disk, struct interner *interner,
	const struct json_value *source, struct error *err)
{
	const struct json_value *list = json_value_get(source, "monitors");

	if (json_value_count(list) > POD_DISK_MONITORS_MAX) {
		return error_set(err, -E2BIG,
			"an rbd volume has more than %d monitors",
			POD_DISK_MONITORS_MAX);
	}
	disk->is_rbd = true;
	disk->name = interner_hold(interner,
		json_value_text_at(source, "image", ""));
	disk->pool =
		interner_hold(interner, json_value_text_at(source, "pool", ""));
	disk->monitors =
		xcalloc(json_value_count(list), sizeof(*disk->monitors));
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		if (json_value_text(v) != NULL) {
			disk->monitors[disk->monitor_count++] =
				interner_hold(interner, json_value_text(v));
		}
	}
	return 0;
}

static int read_disk(struct pod_volumes *volumes, struct interner *interner,
	const struct json_value *object, struct error *err)
{
	const struct json_value *iscsi = json_value_get(object, "iscsi");
	const struct json_value *rbd = json_value_get(object, "rbd");
	struct pod_disk *disk = &volumes->disks[volumes->disk_count];
	int r = 0;

	if (!json_value_is_object(iscsi) && !json_value_is_object(rbd)) {
		return 0;
	}
	disk->is_read_only = json_value_true(json_value_get(
		json_value_is_object(iscsi) ? iscsi : rbd, "readOnly"));
	if (json_value_is_object(iscsi)) {
		disk->name = interner_hold(interner,
			json_value_text_at(iscsi, "iqn", ""));
	} else {
		r = read_rbd(disk, interner, rbd, err);
	}
	if (r == 0) {
		volumes->disk_count++;
	}
	return r;
}

static void read_claim(struct pod_volumes *volumes,
	const struct json_value *object, const char *pod)
{
	const struct json_value *claim =
		json_value_get(object, "persistentVolumeClaim");
	struct pod_claim *read = &volumes->claims[volumes->claim_count];

	if (json_value_is_object(claim)) {
		read->name =
			xstrdup(json_value_text_at(claim, "claimName", ""));
		volumes->claim_count++;
	} else if (json_value_is_object(json_value_get(object, "ephemeral"))) {
		read->name = xasprintf("%s-%s", pod,
			json_value_text_at(object, "name", ""));
		read->is_ephemeral = true;
		volumes->claim_count++;
	}
}

int pod_volumes_read(struct pod_volumes *out, struct interner *interner,
	const struct json_value *list, const char *pod, struct error *err)
{
	struct pod_volumes volumes = { 0 };
	size_t count = json_value_count(list);

	if (count > POD_VOLUMES_MAX) {
		return error_set(err, -E2BIG, "more than %d volumes",
			POD_VOLUMES_MAX);
	}
	volumes.claims = xcalloc(count, sizeof(*volumes.claims));
	volumes.disks = xcalloc(count, sizeof(*volumes.disks));
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		int r = read_disk(&volumes, interner, v, err);

		if (r < 0) {
			pod_volumes_fini(&volumes, interner);
			return r;
		}
		read_claim(&volumes, v, pod);
	}
	/* Saves memory: most pods have neither. */
	if (volumes.claim_count == 0) {
		free(take_ptr(volumes.claims));
	}
	if (volumes.disk_count == 0) {
		free(take_ptr(volumes.disks));
	}
	*out = volumes;
	return 0;
}

void pod_volumes_fini(struct pod_volumes *volumes, struct interner *interner)
{
	for (size_t i = 0; i < volumes->claim_count; i++) {
		free(volumes->claims[i].name);
	}
	for (size_t i = 0; i < volumes->disk_count; i++) {
		disk_fini(&volumes->disks[i], interner);
	}
	free(volumes->claims);
	free(volumes->disks);
	*volumes = (struct pod_volumes){ 0 };
}

static bool shares_monitor(const struct pod_disk *a, const struct pod_disk *b)
{
	for (size_t i = 0; i < a->monitor_count * b->monitor_count; i++) {
		if (a->monitors[i / b->monitor_count] ==
			b->monitors[i % b->monitor_count]) {
			return true;
		}
	}
	return false;
}

static bool is_same_disk(const struct pod_disk *a, const struct pod_disk *b)
{
	return a->is_rbd == b->is_rbd && a->name == b->name &&
		a->pool == b->pool && (!a->is_rbd || shares_monitor(a, b));
}

bool pod_disks_conflict(const struct pod_volumes *a,
	const struct pod_volumes *b)
{
	for (size_t i = 0; i < a->disk_count * b->disk_count; i++) {
		const struct pod_disk *x = &a->disks[i / b->disk_count];
		const struct pod_disk *y = &b->disks[i % b->disk_count];

		if (is_same_disk(x, y) &&
			!(x->is_read_only && y->is_read_only)) {
			return true;
		}
	}
	return false;
}
