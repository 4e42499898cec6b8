#include "scheduler/filter/volume_limits.h"

#include <stdlib.h>

#include "lib/memory.h"

/* The value of keys in driver_counts. */
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

	if (volumes->new_count == 0) {
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

/* The index of the node's first attachment, or of the next node's. */
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

static void add_volume(struct volumes *v, uint32_t driver, uint32_t handle)
{
	if (!topology_counts_has(&v->on_node, driver, handle)) {
		topology_counts_add(&v->on_node, driver, handle, 1);
		topology_counts_add(&v->driver_counts, driver,
			VOLUMES_OF_DRIVER, 1);
	}
}

static void add_pod(struct volumes *v, const struct pod *pod)
{
	const struct storage *storage = &v->cluster->storage;

	for (size_t i = 0; i < pod->volumes.claim_count; i++) {
		const struct claim *claim = storage_claim(storage,
			pod->namespace, pod->volumes.claims[i].name);
		uint32_t driver;
		uint32_t handle;

		if (claim != NULL &&
			storage_csi_handle(storage, claim, &driver, &handle)) {
			add_volume(v, driver, handle);
		}
	}
}

/* Upstream counts the attachment of a volume again if the incoming pod uses the
 * volume and no other pod on the node does. */
static void add_attachments(struct volumes *v, const struct node *node)
{
	for (size_t i = first_attached(v, node->name_id);
		i < v->attached_count && v->attached[i].node == node->name_id;
		i++) {
		add_volume(v, v->attached[i].volume.driver,
			v->attached[i].volume.handle);
	}
}

static void add_new(struct volumes *v)
{
	for (size_t i = 0; i < v->new_count; i++) {
		const struct csi_volume *new = &v->new_volumes[i];

		if (!topology_counts_has(&v->on_node, new->driver,
			    new->handle)) {
			topology_counts_add(&v->added, new->driver, new->handle,
				0);
		}
	}
}

static int64_t count_driver(const struct topology_counts *counts,
	uint32_t driver)
{
	const struct topology_count *slot;
	int64_t count = 0;
	size_t at = 0;

	while ((slot = topology_counts_next(counts, &at)) != NULL) {
		count += slot->key == driver;
	}
	return count;
}

bool volume_limits_allow(struct volumes *volumes, const struct node *node)
{
	const struct csi_node *csi = volumes->new_count == 0
		? NULL
		: storage_csi_node(&volumes->cluster->storage, node->name);
	struct volumes *v = volumes;
	bool fits = true;

	if (csi == NULL || csi->count == 0) {
		return true;
	}
	topology_counts_clear(&v->on_node);
	topology_counts_clear(&v->driver_counts);
	topology_counts_clear(&v->added);
	for (size_t i = 0; i < node->pod_count; i++) {
		add_pod(v, node->pods[i].pod);
	}
	add_new(v);
	add_attachments(v, node);
	for (size_t i = 0; i < csi->count && fits; i++) {
		uint32_t driver = csi->limits[i].driver;
		int64_t more = count_driver(&v->added, driver);

		fits = more == 0 ||
			topology_counts_get(&v->driver_counts, driver,
				VOLUMES_OF_DRIVER) +
					more <=
				csi->limits[i].volumes;
	}
	return fits;
}
