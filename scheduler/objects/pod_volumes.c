#include "scheduler/objects/pod_volumes.h"

#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"

static void disk_fini(const struct pod_disk *disk, struct interner *interner)
{
	interner_drop(interner, disk->name);
	interner_drop(interner, disk->pool);
	interner_drop(interner, disk->monitor);
}

static void append(struct pod_volumes *volumes, const struct pod_disk *disk)
{
	volumes->disks = xgrow(volumes->disks, volumes->disk_count,
		&volumes->disk_capacity, sizeof(*disk));
	volumes->disks[volumes->disk_count++] = *disk;
}

static uint32_t hold(struct interner *interner, const struct json_value *source,
	const char *key)
{
	return interner_hold(interner, json_value_text_at(source, key, ""));
}

static bool is_read_only(const struct json_value *source)
{
	return json_value_true(json_value_get(source, "readOnly"));
}

static void read_rbd(struct pod_volumes *volumes, struct interner *interner,
	const struct json_value *source)
{
	for (const struct json_value *v =
			json_value_first(json_value_get(source, "monitors"));
		v != NULL; v = json_value_next(v)) {
		const char *monitor = json_value_text(v);

		if (monitor != NULL) {
			append(volumes,
				&(struct pod_disk){
					.is_rbd = true,
					.is_read_only = is_read_only(source),
					.name = hold(interner, source, "image"),
					.pool = hold(interner, source, "pool"),
					.monitor = interner_hold(interner,
						monitor),
				});
		}
	}
}

static void read_disk(struct pod_volumes *volumes, struct interner *interner,
	const struct json_value *object)
{
	const struct json_value *iscsi = json_value_get(object, "iscsi");
	const struct json_value *rbd = json_value_get(object, "rbd");

	if (json_value_is_object(iscsi)) {
		append(volumes,
			&(struct pod_disk){
				.is_read_only = is_read_only(iscsi),
				.name = hold(interner, iscsi, "iqn"),
			});
	} else if (json_value_is_object(rbd)) {
		read_rbd(volumes, interner, rbd);
	}
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

static int compare_ids(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

/* 0: the same disk. */
static int compare(const void *a, const void *b)
{
	const struct pod_disk *x = a;
	const struct pod_disk *y = b;
	int order = compare_ids(x->is_rbd, y->is_rbd);

	order = order != 0 ? order : compare_ids(x->name, y->name);
	order = order != 0 ? order : compare_ids(x->pool, y->pool);
	return order != 0 ? order : compare_ids(x->monitor, y->monitor);
}

/* A disk that the pod uses twice is written if either use writes. */
static void sort_disks(struct pod_volumes *volumes, struct interner *interner)
{
	size_t kept = 0;

	if (volumes->disk_count == 0) {
		return;
	}
	qsort(volumes->disks, volumes->disk_count, sizeof(*volumes->disks),
		compare);
	for (size_t i = 1; i < volumes->disk_count; i++) {
		struct pod_disk *last = &volumes->disks[kept];
		const struct pod_disk *disk = &volumes->disks[i];

		if (compare(last, disk) == 0) {
			last->is_read_only &= disk->is_read_only;
			disk_fini(disk, interner);
		} else {
			volumes->disks[++kept] = *disk;
		}
	}
	volumes->disk_count = kept + 1;
}

void pod_volumes_read(struct pod_volumes *out, struct interner *interner,
	const struct json_value *list, const char *pod)
{
	struct pod_volumes volumes = {
		.claims = xcalloc(json_value_count(list),
			sizeof(*volumes.claims)),
	};

	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		read_disk(&volumes, interner, v);
		read_claim(&volumes, v, pod);
	}
	sort_disks(&volumes, interner);
	/* Saves memory: most pods have no claims. */
	if (volumes.claim_count == 0) {
		free(take_ptr(volumes.claims));
	}
	*out = volumes;
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

/* Searches for each disk of the shorter list in the longer one. */
bool pod_disks_conflict(const struct pod_volumes *a,
	const struct pod_volumes *b)
{
	if (a->disk_count > b->disk_count) {
		return pod_disks_conflict(b, a);
	}
	for (size_t i = 0; i < a->disk_count; i++) {
		const struct pod_disk *x = &a->disks[i];
		const struct pod_disk *y = bsearch(x, b->disks, b->disk_count,
			sizeof(*x), compare);

		if (y != NULL && !(x->is_read_only && y->is_read_only)) {
			return true;
		}
	}
	return false;
}
