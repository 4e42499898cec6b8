/* PersistentVolumes: see cluster/storage_objects.h. */
#include "scheduler/cluster/storage_objects.h"

#include <stdlib.h>
#include <string.h>

#include "lib/id_list.h"
#include "lib/memory.h"

static const struct {
	const char *key, *plain;
} zone_labels[VOLUME_ZONES] = {
	{ "failure-domain.beta.kubernetes.io/zone",
		"topology.kubernetes.io/zone" },
	{ "failure-domain.beta.kubernetes.io/region",
		"topology.kubernetes.io/region" },
	{ "topology.kubernetes.io/zone", "topology.kubernetes.io/zone" },
	{ "topology.kubernetes.io/region", "topology.kubernetes.io/region" },
};

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void zone_fini(struct volume_zone *zone, struct interner *interner)
{
	requirement_fini(&zone->wanted, interner);
	interner_drop(interner, zone->plain_key);
}

/* Adds one value without the blanks around it; false: only blanks. */
static bool add_zone_value(struct volume_zone *zone, struct interner *interner,
	const char *text, size_t len)
{
	scoped_free char *value = NULL;

	while (len > 0 && is_blank(*text)) {
		text++;
		len--;
	}
	while (len > 0 && is_blank(text[len - 1])) {
		len--;
	}
	if (len == 0) {
		return false;
	}
	value = xstrndup(text, len);
	requirement_add_value(&zone->wanted, interner, value);
	return true;
}

/* The value of a label is a list of zones, separated by "__". A list with an
 * empty zone is ignored, as upstream. */
static bool read_zone(struct volume_zone *zone, struct interner *interner,
	const char *text)
{
	const char *end;

	for (; (end = strstr(text, "__")) != NULL; text = end + 2) {
		if (!add_zone_value(zone, interner, text,
			    (size_t)(end - text))) {
			return false;
		}
	}
	return add_zone_value(zone, interner, text, strlen(text));
}

static void read_zones(struct volume *volume, struct interner *interner,
	const struct json_value *labels)
{
	for (size_t i = 0; i < count_of(zone_labels); i++) {
		const char *text = json_value_text(
			json_value_get(labels, zone_labels[i].key));
		struct volume_zone zone = { 0 };

		if (text != NULL && read_zone(&zone, interner, text)) {
			zone.wanted.key =
				interner_hold(interner, zone_labels[i].key);
			id_list_sort(zone.wanted.values,
				zone.wanted.value_count);
			zone.plain_key =
				interner_hold(interner, zone_labels[i].plain);
			volume->zones[volume->zone_count++] = zone;
		} else {
			zone_fini(&zone, interner);
		}
	}
}

/* Sources that CSI migration rewrites, with their topology. */
static const char *migrated_source(const struct json_value *spec)
{
	static const char *const sources[] = { "awsElasticBlockStore",
		"gcePersistentDisk", "azureDisk", "cinder", "portworxVolume" };

	for (size_t i = 0; i < count_of(sources); i++) {
		if (json_value_get(spec, sources[i]) != NULL) {
			return sources[i];
		}
	}
	return NULL;
}

static void read_strings(struct volume *volume, const struct json_value *object)
{
	const struct json_value *ref = json_value_at(object, "spec/claimRef");

	volume->name = storage_text(object, "metadata/name");
	volume->uid = storage_text(object, "metadata/uid");
	volume->resource_version =
		storage_text(object, "metadata/resourceVersion");
	volume->class_name =
		storage_class_name(object, "spec/storageClassName");
	volume->attributes =
		storage_text(object, "spec/volumeAttributesClassName");
	if (json_value_is_object(ref)) {
		volume->claim_namespace = storage_text(ref, "namespace");
		volume->claim_name = storage_text(ref, "name");
		volume->claim_uid = storage_text(ref, "uid");
	}
}

static int read_interned(struct volume *volume, struct interner *interner,
	const struct json_value *object, struct error *err)
{
	const struct json_value *labels =
		json_value_at(object, "metadata/labels");
	const struct json_value *required =
		json_value_at(object, "spec/nodeAffinity/required");
	const char *driver = json_value_text_at(object, "spec/csi/driver", "");
	const char *handle =
		json_value_text_at(object, "spec/csi/volumeHandle", "");
	int r = labels_read(&volume->labels, interner, labels, err);

	if (r == 0 && json_value_is_object(required)) {
		volume->has_affinity = true;
		r = node_selector_read(&volume->affinity, interner,
			json_value_get(required, "nodeSelectorTerms"), false,
			err);
	}
	if (r == 0) {
		read_zones(volume, interner, labels);
	}
	if (r == 0 && *driver != '\0' && *handle != '\0') {
		volume->driver = interner_hold(interner, driver);
		volume->handle = interner_hold(interner, handle);
	}
	return r;
}

static int read_volume(void *out, struct interner *interner,
	const struct json_value *object, struct error *err)
{
	const struct json_value *spec = json_value_get(object, "spec");
	struct volume *volume = out;

	read_strings(volume, object);
	(void)storage_quantity(&volume->capacity,
		json_value_at(spec, "capacity/storage"));
	volume->modes = storage_modes(json_value_get(spec, "accessModes"));
	volume->is_block = strcmp(json_value_text_at(spec, "volumeMode", ""),
				   "Block") == 0;
	volume->is_deleting = storage_is_deleting(object);
	volume->is_available =
		strcmp(json_value_text_at(object, "status/phase", ""),
			"Available") == 0;
	volume->migrated = migrated_source(spec);
	return read_interned(volume, interner, object, err);
}

static void volume_fini(void *object, struct interner *interner)
{
	struct volume *volume = object;

	free(volume->name);
	free(volume->uid);
	free(volume->resource_version);
	free(volume->class_name);
	free(volume->attributes);
	free(volume->claim_namespace);
	free(volume->claim_name);
	free(volume->claim_uid);
	node_selector_fini(&volume->affinity, interner);
	labels_fini(&volume->labels, interner);
	for (size_t i = 0; i < volume->zone_count; i++) {
		zone_fini(&volume->zones[i], interner);
	}
	interner_drop(interner, volume->driver);
	interner_drop(interner, volume->handle);
}

const struct storage_type storage_volume_type = { sizeof(struct volume),
	read_volume, volume_fini };
