#include "scheduler/filter/volume_limits.h"

#include <stdlib.h>

#include "lib/memory.h"

/* Counts are kept under a driver and this. */
enum { VOLUMES_OF_DRIVER = 1 };

static int compare_nodes(const void *a, const void *b)
{
	const struct csi_attachment *x = a;
	const struct csi_attachment *y = b;

	return (x->node > y->node) - (x->node < y->node);
}

void volume_limits_prepare(struct volumes *volumes)
{
	const struct storage *storage = &volumes->cluster->storage;
	const struct map *map = &storage->maps[STORAGE_ATTACHMENTS];
	size_t at = 0;
	void *value;

	if (volumes->fresh_count == 0) {
		return;
	}
	volumes->attached = xcalloc(map->count, sizeof(*volumes->attached));
	while (map_next(map, &at, NULL, &value)) {
		const struct attachment *attachment = value;
		const struct volume *volume =
			storage_volume(storage, attachment->volume);

		if (volume != NULL && volume->driver != 0) {
			volumes->attached[volumes->attached_count++] =
				(struct csi_attachment){
					.node = attachment->node,
					.volume = { attachment->driver,
						volume->handle },
				};
		}
	}
	qsort(volumes->attached, volumes->attached_count,
		sizeof(*volumes->attached), compare_nodes);
}

/* The first of the node's, or where they would begin. */
static size_t first_attached(const struct volumes *v, uint32_t node)
{
	size_t low = 0;
	size_t high = v->attached_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (v->attached[middle].node < node) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static void note(struct volumes *v, uint32_t driver, uint32_t handle)
{
	if (!pairs_have(&v->here, driver, handle)) {
		pairs_add(&v->here, driver, handle, 1);
		pairs_add(&v->counts, driver, VOLUMES_OF_DRIVER, 1);
	}
}

static void note_pod(struct volumes *v, const struct pod *pod)
{
	const struct storage *storage = &v->cluster->storage;

	for (size_t i = 0; i < pod->volumes.claim_count; i++) {
		const struct claim *claim = storage_claim(storage,
			pod->namespace, pod->volumes.claims[i].name);
		uint32_t driver;
		uint32_t handle;

		if (claim != NULL &&
			storage_identify(storage, claim, &driver, &handle)) {
			note(v, driver, handle);
		}
	}
}

/* Upstream counts an attachment of a volume that the pod brings and no other
 * pod on the node has once more: it is in neither set it compares with. */
static void note_attachments(struct volumes *v, const struct node *node)
{
	for (size_t i = first_attached(v, node->name_id);
		i < v->attached_count && v->attached[i].node == node->name_id;
		i++) {
		note(v, v->attached[i].volume.driver,
			v->attached[i].volume.handle);
	}
}

static void note_fresh(struct volumes *v, struct pairs *more)
{
	for (size_t i = 0; i < v->fresh_count; i++) {
		const struct csi_volume *fresh = &v->fresh[i];

		if (!pairs_have(&v->here, fresh->driver, fresh->handle)) {
			pairs_add(more, fresh->driver, fresh->handle, 0);
		}
	}
}

static int64_t count_driver(const struct pairs *pairs, uint32_t driver)
{
	const struct pair_slot *slot;
	int64_t count = 0;
	size_t at = 0;

	while ((slot = pairs_next(pairs, &at)) != NULL) {
		count += slot->key == driver;
	}
	return count;
}

bool volume_limits_hold(struct volumes *volumes, const struct node *node)
{
	const struct csi_node *csi = volumes->fresh_count == 0
		? NULL
		: storage_csi_node(&volumes->cluster->storage, node->name);
	struct volumes *v = volumes;
	bool holds = true;

	if (csi == NULL || csi->count == 0) {
		return true;
	}
	pairs_clear(&v->here);
	pairs_clear(&v->counts);
	pairs_clear(&v->more);
	for (size_t i = 0; i < node->guest_count; i++) {
		note_pod(v, node->guests[i].pod);
	}
	note_fresh(v, &v->more);
	note_attachments(v, node);
	for (size_t i = 0; i < csi->count && holds; i++) {
		uint32_t driver = csi->limits[i].driver;
		int64_t more = count_driver(&v->more, driver);

		holds = more == 0 ||
			pairs_get(&v->counts, driver, VOLUMES_OF_DRIVER) +
					more <=
				csi->limits[i].volumes;
	}
	return holds;
}
