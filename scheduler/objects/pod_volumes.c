#include "scheduler/objects/pod_volumes.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/memory.h"

static void disk_fini(struct pod_disk *disk, struct names *names)
{
	names_drop(names, disk->name);
	names_drop(names, disk->pool);
	for (size_t i = 0; i < disk->monitor_count; i++) {
		names_drop(names, disk->monitors[i]);
	}
	free(disk->monitors);
}

static void read_iscsi(struct pod_disk *disk, struct names *names,
	const struct value *source)
{
	disk->name = names_hold(names, value_text_at(source, "iqn", ""));
}

static int read_rbd(struct pod_disk *disk, struct names *names,
	const struct value *source, struct error *err)
{
	const struct value *list = value_get(source, "monitors");

	if (value_count(list) > POD_DISK_MONITORS_MAX) {
		return error_set(err, -E2BIG,
			"an rbd volume has more than %d monitors",
			POD_DISK_MONITORS_MAX);
	}
	disk->is_rbd = true;
	disk->name = names_hold(names, value_text_at(source, "image", ""));
	disk->pool = names_hold(names, value_text_at(source, "pool", ""));
	disk->monitors = xcalloc(value_count(list), sizeof(*disk->monitors));
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		if (value_text(v) != NULL) {
			disk->monitors[disk->monitor_count++] =
				names_hold(names, value_text(v));
		}
	}
	return 0;
}

static int read_disk(struct pod_volumes *volumes, struct names *names,
	const struct value *object, struct error *err)
{
	const struct value *iscsi = value_get(object, "iscsi");
	const struct value *rbd = value_get(object, "rbd");
	struct pod_disk *disk = &volumes->disks[volumes->disk_count];
	int r = 0;

	if (!value_is_object(iscsi) && !value_is_object(rbd)) {
		return 0;
	}
	disk->is_read_only = value_true(
		value_get(value_is_object(iscsi) ? iscsi : rbd, "readOnly"));
	if (value_is_object(iscsi)) {
		read_iscsi(disk, names, iscsi);
	} else {
		r = read_rbd(disk, names, rbd, err);
	}
	if (r == 0) {
		volumes->disk_count++;
	}
	return r;
}

static void read_claim(struct pod_volumes *volumes, const struct value *object,
	const char *pod)
{
	const struct value *claim = value_get(object, "persistentVolumeClaim");
	struct pod_claim *read = &volumes->claims[volumes->claim_count];

	if (value_is_object(claim)) {
		read->name = xstrdup(value_text_at(claim, "claimName", ""));
		volumes->claim_count++;
	} else if (value_is_object(value_get(object, "ephemeral"))) {
		read->name = xasprintf("%s-%s", pod,
			value_text_at(object, "name", ""));
		read->is_ephemeral = true;
		volumes->claim_count++;
	}
}

int pod_volumes_read(struct pod_volumes *out, struct names *names,
	const struct value *list, const char *pod, struct error *err)
{
	struct pod_volumes volumes = { 0 };
	size_t count = value_count(list);

	if (count > POD_VOLUMES_MAX) {
		return error_set(err, -E2BIG, "more than %d volumes",
			POD_VOLUMES_MAX);
	}
	volumes.claims = xcalloc(count, sizeof(*volumes.claims));
	volumes.disks = xcalloc(count, sizeof(*volumes.disks));
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		int r = read_disk(&volumes, names, v, err);

		if (r < 0) {
			pod_volumes_fini(&volumes, names);
			return r;
		}
		read_claim(&volumes, v, pod);
	}
	/* Most pods have neither, and there are many pods. */
	if (volumes.claim_count == 0) {
		free(take_ptr(volumes.claims));
	}
	if (volumes.disk_count == 0) {
		free(take_ptr(volumes.disks));
	}
	*out = volumes;
	return 0;
}

void pod_volumes_fini(struct pod_volumes *volumes, struct names *names)
{
	for (size_t i = 0; i < volumes->claim_count; i++) {
		free(volumes->claims[i].name);
	}
	for (size_t i = 0; i < volumes->disk_count; i++) {
		disk_fini(&volumes->disks[i], names);
	}
	free(volumes->claims);
	free(volumes->disks);
	*volumes = (struct pod_volumes){ 0 };
}

static bool share_monitor(const struct pod_disk *a, const struct pod_disk *b)
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
		a->pool == b->pool && (!a->is_rbd || share_monitor(a, b));
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
