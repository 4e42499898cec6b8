/* PersistentVolumes: see storage_objects.h. */
#include "scheduler/cluster/storage_objects.h"

#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "scheduler/cluster/storage_read.h"

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

static void zone_fini(struct volume_zone *zone, struct names *names)
{
	for (size_t i = 0; i < zone->value_count; i++) {
		names_drop(names, zone->values[i]);
	}
	free(zone->values);
	names_drop(names, zone->key);
	names_drop(names, zone->plain_key);
}

/* Takes one value without the blanks around it; false if nothing is left. */
static bool take_zone(struct volume_zone *zone, struct names *names,
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
	zone->values = xrealloc(zone->values, zone->value_count + 1,
		sizeof(*zone->values));
	zone->values[zone->value_count++] = names_hold(names, value);
	return true;
}

/* A label's value is one zone, or some with "__" between them. A label with an
 * empty one among them is not looked at, as upstream. */
static bool read_zone(struct volume_zone *zone, struct names *names,
	const char *text)
{
	const char *end;

	for (; (end = strstr(text, "__")) != NULL; text = end + 2) {
		if (!take_zone(zone, names, text, (size_t)(end - text))) {
			return false;
		}
	}
	return take_zone(zone, names, text, strlen(text));
}

static void read_zones(struct volume *volume, struct names *names,
	const struct value *labels)
{
	for (size_t i = 0; i < count_of(zone_labels); i++) {
		const char *text =
			value_text(value_get(labels, zone_labels[i].key));
		struct volume_zone zone = { 0 };

		if (text != NULL && read_zone(&zone, names, text)) {
			zone.key = names_hold(names, zone_labels[i].key);
			zone.plain_key =
				names_hold(names, zone_labels[i].plain);
			volume->zones[volume->zone_count++] = zone;
		} else {
			zone_fini(&zone, names);
		}
	}
}

/* Sources that CSI migration rewrites, and their topology with them. */
static const char *migrated_source(const struct value *spec)
{
	static const char *const sources[] = {
		"awsElasticBlockStore",
		"gcePersistentDisk",
		"azureDisk",
		"cinder",
		"portworxVolume",
	};

	for (size_t i = 0; i < count_of(sources); i++) {
		if (value_get(spec, sources[i]) != NULL) {
			return sources[i];
		}
	}
	return NULL;
}

static void read_texts(struct volume *volume, const struct value *object)
{
	const struct value *ref = value_at(object, "spec/claimRef");

	volume->name = storage_text(object, "metadata/name");
	volume->uid = storage_text(object, "metadata/uid");
	volume->resource_version =
		storage_text(object, "metadata/resourceVersion");
	volume->class_name =
		storage_class_name(object, "spec/storageClassName");
	volume->attributes =
		storage_text(object, "spec/volumeAttributesClassName");
	if (value_is_object(ref)) {
		volume->claim_namespace = storage_text(ref, "namespace");
		volume->claim_name = storage_text(ref, "name");
		volume->claim_uid = storage_text(ref, "uid");
	}
}

static int read_parts(struct volume *volume, struct names *names,
	const struct value *object, struct error *err)
{
	const struct value *labels = value_at(object, "metadata/labels");
	const struct value *required =
		value_at(object, "spec/nodeAffinity/required");
	const char *driver = value_text_at(object, "spec/csi/driver", "");
	const char *handle = value_text_at(object, "spec/csi/volumeHandle", "");
	int r = labels_read(&volume->labels, names, labels, err);

	if (r == 0 && value_is_object(required)) {
		volume->has_affinity = true;
		r = terms_read(&volume->affinity, names,
			value_get(required, "nodeSelectorTerms"), false, err);
	}
	if (r == 0) {
		read_zones(volume, names, labels);
	}
	if (r == 0 && *driver != '\0' && *handle != '\0') {
		volume->driver = names_hold(names, driver);
		volume->handle = names_hold(names, handle);
	}
	return r;
}

int volume_new(struct volume **out, struct names *names,
	const struct value *object, struct error *err)
{
	const struct value *spec = value_get(object, "spec");
	struct volume *volume = xcalloc(1, sizeof(*volume));
	int r;

	read_texts(volume, object);
	(void)storage_quantity(&volume->capacity,
		value_at(spec, "capacity/storage"));
	volume->modes = storage_modes(value_get(spec, "accessModes"));
	volume->is_block =
		strcmp(value_text_at(spec, "volumeMode", ""), "Block") == 0;
	volume->is_deleting = storage_is_deleting(object);
	volume->is_available = strcmp(value_text_at(object, "status/phase", ""),
				       "Available") == 0;
	volume->migrated = migrated_source(spec);
	r = read_parts(volume, names, object, err);
	if (r < 0) {
		volume_free(volume, names);
		return r;
	}
	*out = volume;
	return 0;
}

void volume_free(struct volume *volume, struct names *names)
{
	if (volume == NULL) {
		return;
	}
	free(volume->name);
	free(volume->uid);
	free(volume->resource_version);
	free(volume->class_name);
	free(volume->attributes);
	free(volume->claim_namespace);
	free(volume->claim_name);
	free(volume->claim_uid);
	free(volume->assumed_uid);
	terms_fini(&volume->affinity, names);
	labels_fini(&volume->labels, names);
	for (size_t i = 0; i < volume->zone_count; i++) {
		zone_fini(&volume->zones[i], names);
	}
	names_drop(names, volume->driver);
	names_drop(names, volume->handle);
	free(volume);
}
