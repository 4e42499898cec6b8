#include "scheduler/cluster/storage_objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "scheduler/objects/value_list.h"

enum { DRIVERS_MAX = 1024, LIMIT_MAX = INT32_MAX };

static bool is_text(const struct json_value *object, const char *path,
	const char *text)
{
	return strcmp(json_value_text_at(object, path, ""), text) == 0;
}

/* ---- claims ---- */

static char *controller_of(const struct json_value *object)
{
	const struct json_value *list =
		json_value_at(object, "metadata/ownerReferences");

	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		if (json_value_true(json_value_get(v, "controller"))) {
			return storage_text(v, "uid");
		}
	}
	return xstrdup("");
}

static char *copy_annotation(const struct json_value *object, const char *key)
{
	const char *annotation = storage_annotation(object, key);

	return annotation != NULL ? xstrdup(annotation) : NULL;
}

/* No volume handle contains \1. */
static uint32_t hold_placeholder(struct interner *interner,
	const struct claim *claim)
{
	scoped_free char *text =
		xasprintf("\1%s/%s", claim->namespace_name, claim->name);

	return interner_hold(interner, text);
}

static int read_claim(void *out, struct interner *interner,
	const struct json_value *object, struct error *err)
{
	const struct json_value *size =
		json_value_at(object, "spec/resources/requests/storage");
	const struct json_value *selector =
		json_value_at(object, "spec/selector");
	struct claim *claim = out;

	claim->has_selector = json_value_is_object(selector);
	claim->is_block = is_text(object, "spec/volumeMode", "Block");
	claim->is_lost = is_text(object, "status/phase", "Lost");
	claim->is_deleting = storage_is_deleting(object);
	claim->modes = storage_modes(json_value_at(object, "spec/accessModes"));
	claim->namespace_name = storage_text(object, "metadata/namespace");
	claim->name = storage_text(object, "metadata/name");
	claim->uid = storage_text(object, "metadata/uid");
	claim->resource_version =
		storage_text(object, "metadata/resourceVersion");
	claim->class_name = storage_class_name(object, "spec/storageClassName");
	claim->attributes =
		storage_text(object, "spec/volumeAttributesClassName");
	claim->volume = storage_text(object, "spec/volumeName");
	claim->selected_node =
		copy_annotation(object, "volume.kubernetes.io/selected-node");
	claim->owner_uid = controller_of(object);
	claim->has_size = storage_quantity(&claim->size, size);
	claim->is_bound = *claim->volume != '\0' &&
		storage_annotation(object, "pv.kubernetes.io/bind-completed") !=
			NULL;
	claim->placeholder = hold_placeholder(interner, claim);
	label_selector_read(&claim->selector, interner, selector);
	(void)err;
	return 0;
}

static void claim_fini(void *object, struct interner *interner)
{
	struct claim *claim = object;

	free(claim->namespace_name);
	free(claim->name);
	free(claim->uid);
	free(claim->resource_version);
	free(claim->class_name);
	free(claim->attributes);
	free(claim->volume);
	free(claim->selected_node);
	free(claim->owner_uid);
	interner_drop(interner, claim->placeholder);
	label_selector_fini(&claim->selector, interner);
}

const struct storage_type storage_claim_type = { sizeof(struct claim),
	read_claim, claim_fini };

/* ---- classes ---- */

/* In-tree provisioners that CSI migration replaces. */
static bool is_migrated_provisioner(const char *provisioner)
{
	static const char *const list[] = { "kubernetes.io/aws-ebs",
		"kubernetes.io/gce-pd", "kubernetes.io/azure-disk",
		"kubernetes.io/cinder" };

	return value_list_find(list, count_of(list), provisioner) <
		count_of(list);
}

static int read_class(void *out, struct interner *interner,
	const struct json_value *object, struct error *err)
{
	const struct json_value *list =
		json_value_get(object, "allowedTopologies");
	struct storage_class *class = out;

	class->waits_for_consumer =
		is_text(object, "volumeBindingMode", "WaitForFirstConsumer");
	class->has_topologies = json_value_first(list) != NULL;
	class->provisioner = storage_text(object, "provisioner");
	class->driver = interner_hold(interner, class->provisioner);
	class->is_migrated = is_migrated_provisioner(class->provisioner);
	node_selector_read_topologies(&class->topologies, interner, list);
	(void)err;
	return 0;
}

static void class_fini(void *object, struct interner *interner)
{
	struct storage_class *class = object;

	free(class->provisioner);
	interner_drop(interner, class->driver);
	node_selector_fini(&class->topologies, interner);
}

const struct storage_type storage_class_type = { sizeof(struct storage_class),
	read_class, class_fini };

/* ---- CSI ---- */

static int read_csi_node(void *out, struct interner *interner,
	const struct json_value *object, struct error *err)
{
	const struct json_value *list = json_value_at(object, "spec/drivers");
	struct csi_node *node = out;

	if (json_value_count(list) > DRIVERS_MAX) {
		return error_set(err, -E2BIG, "more than %d CSI drivers",
			DRIVERS_MAX);
	}
	node->limits = xcalloc(json_value_count(list), sizeof(*node->limits));
	node->drivers = xcalloc(json_value_count(list), sizeof(*node->drivers));
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		double count = 0;

		node->drivers[node->driver_count++] = interner_hold(interner,
			json_value_text_at(v, "name", ""));
		if (json_value_number(&count,
			    json_value_at(v, "allocatable/count")) &&
			count >= 0 && count <= LIMIT_MAX) {
			node->limits[node->count++] = (struct driver_limit){
				.driver = interner_hold(interner,
					json_value_text_at(v, "name", "")),
				.volumes = (int64_t)count,
			};
		}
	}
	return 0;
}

static void csi_node_fini(void *object, struct interner *interner)
{
	struct csi_node *node = object;

	for (size_t i = 0; i < node->count; i++) {
		interner_drop(interner, node->limits[i].driver);
	}
	for (size_t i = 0; i < node->driver_count; i++) {
		interner_drop(interner, node->drivers[i]);
	}
	free(node->limits);
	free(node->drivers);
}

const struct storage_type storage_csi_node_type = { sizeof(struct csi_node),
	read_csi_node, csi_node_fini };

static int read_csi_driver(void *out, struct interner *interner,
	const struct json_value *object, struct error *err)
{
	struct csi_driver *driver = out;

	(void)interner;
	(void)err;
	driver->has_capacity =
		json_value_true(json_value_at(object, "spec/storageCapacity"));
	driver->is_required = json_value_true(
		json_value_at(object, "spec/preventPodSchedulingIfMissing"));
	return 0;
}

const struct storage_type storage_csi_driver_type = { sizeof(struct csi_driver),
	read_csi_driver, NULL };

static int read_capacity(void *out, struct interner *interner,
	const struct json_value *object, struct error *err)
{
	const struct json_value *maximum =
		json_value_get(object, "maximumVolumeSize");
	struct capacity *capacity = out;

	capacity->class_name = storage_text(object, "storageClassName");
	capacity->has_limit = storage_quantity(&capacity->limit,
		maximum != NULL ? maximum : json_value_get(object, "capacity"));
	label_selector_read(&capacity->nodes, interner,
		json_value_get(object, "nodeTopology"));
	(void)err;
	return 0;
}

static void capacity_fini(void *object, struct interner *interner)
{
	struct capacity *capacity = object;

	free(capacity->class_name);
	label_selector_fini(&capacity->nodes, interner);
}

const struct storage_type storage_capacity_type = { sizeof(struct capacity),
	read_capacity, capacity_fini };

static int read_attachment(void *out, struct interner *interner,
	const struct json_value *object, struct error *err)
{
	struct attachment *attachment = out;

	(void)err;
	attachment->volume =
		storage_text(object, "spec/source/persistentVolumeName");
	attachment->node = interner_hold(interner,
		json_value_text_at(object, "spec/nodeName", ""));
	attachment->driver = interner_hold(interner,
		json_value_text_at(object, "spec/attacher", ""));
	return 0;
}

static void attachment_fini(void *object, struct interner *interner)
{
	struct attachment *attachment = object;

	free(attachment->volume);
	interner_drop(interner, attachment->node);
	interner_drop(interner, attachment->driver);
}

const struct storage_type storage_attachment_type = { sizeof(struct attachment),
	read_attachment, attachment_fini };
