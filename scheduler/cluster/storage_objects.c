#include "scheduler/cluster/storage_objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "scheduler/cluster/storage_read.h"

enum { DRIVERS_MAX = 1024, LIMIT_MAX = INT32_MAX };

static bool is_text(const struct value *object, const char *path,
	const char *text)
{
	return strcmp(value_text_at(object, path, ""), text) == 0;
}

/* ---- claims ---- */

static char *controller_of(const struct value *object)
{
	const struct value *list = value_at(object, "metadata/ownerReferences");

	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		if (value_true(value_get(v, "controller"))) {
			return storage_text(v, "uid");
		}
	}
	return xstrdup("");
}

static char *copy_note(const struct value *object, const char *key)
{
	const char *note = storage_note(object, key);

	return note != NULL ? xstrdup(note) : NULL;
}

/* \1 is in no volume's handle. */
static uint32_t hold_placeholder(struct names *names, const struct claim *claim)
{
	scoped_free char *text =
		xasprintf("\1%s/%s", claim->namespace_name, claim->name);

	return names_hold(names, text);
}

int claim_new(struct claim **out, struct names *names,
	const struct value *object, struct error *err)
{
	const struct value *size =
		value_at(object, "spec/resources/requests/storage");
	const struct value *selector = value_at(object, "spec/selector");
	struct claim claim = {
		.has_selector = value_is_object(selector),
		.is_block = is_text(object, "spec/volumeMode", "Block"),
		.is_lost = is_text(object, "status/phase", "Lost"),
		.is_deleting = storage_is_deleting(object),
		.modes = storage_modes(value_at(object, "spec/accessModes")),
	};
	int r = label_selector_read(&claim.selector, names, selector, err);

	if (r < 0) {
		return r;
	}
	claim.namespace_name = storage_text(object, "metadata/namespace");
	claim.name = storage_text(object, "metadata/name");
	claim.uid = storage_text(object, "metadata/uid");
	claim.resource_version =
		storage_text(object, "metadata/resourceVersion");
	claim.class_name = storage_class_name(object, "spec/storageClassName");
	claim.attributes =
		storage_text(object, "spec/volumeAttributesClassName");
	claim.volume = storage_text(object, "spec/volumeName");
	claim.selected_node =
		copy_note(object, "volume.kubernetes.io/selected-node");
	claim.owner_uid = controller_of(object);
	claim.placeholder = hold_placeholder(names, &claim);
	claim.has_size = storage_quantity(&claim.size, size);
	claim.is_bound = *claim.volume != '\0' &&
		storage_note(object, "pv.kubernetes.io/bind-completed") != NULL;
	*out = xmemdup(&claim, sizeof(claim));
	return 0;
}

void claim_free(struct claim *claim, struct names *names)
{
	if (claim == NULL) {
		return;
	}
	free(claim->namespace_name);
	free(claim->name);
	free(claim->uid);
	free(claim->resource_version);
	free(claim->class_name);
	free(claim->attributes);
	free(claim->volume);
	free(claim->selected_node);
	free(claim->assumed_node);
	free(claim->owner_uid);
	names_drop(names, claim->placeholder);
	label_selector_fini(&claim->selector, names);
	free(claim);
}

/* ---- classes ---- */

/* In-tree provisioners that a CSI driver stands in for. */
static bool is_migrated_provisioner(const char *provisioner)
{
	static const char *const list[] = {
		"kubernetes.io/aws-ebs",
		"kubernetes.io/gce-pd",
		"kubernetes.io/azure-disk",
		"kubernetes.io/cinder",
	};

	for (size_t i = 0; i < count_of(list); i++) {
		if (strcmp(provisioner, list[i]) == 0) {
			return true;
		}
	}
	return false;
}

int storage_class_new(struct storage_class **out, struct names *names,
	const struct value *object, struct error *err)
{
	const struct value *list = value_get(object, "allowedTopologies");
	struct storage_class class = {
		.waits = is_text(object, "volumeBindingMode",
			"WaitForFirstConsumer"),
		.has_topologies = value_first(list) != NULL,
	};
	int r = terms_read_topologies(&class.topologies, names, list, err);

	if (r < 0) {
		return r;
	}
	class.provisioner = storage_text(object, "provisioner");
	class.driver = names_hold(names, class.provisioner);
	class.is_migrated = is_migrated_provisioner(class.provisioner);
	*out = xmemdup(&class, sizeof(class));
	return 0;
}

void storage_class_free(struct storage_class *class, struct names *names)
{
	if (class == NULL) {
		return;
	}
	free(class->provisioner);
	names_drop(names, class->driver);
	terms_fini(&class->topologies, names);
	free(class);
}

/* ---- CSI ---- */

int csi_node_new(struct csi_node **out, struct names *names,
	const struct value *object, struct error *err)
{
	const struct value *list = value_at(object, "spec/drivers");
	struct csi_node node = { 0 };

	if (value_count(list) > DRIVERS_MAX) {
		return error_set(err, -E2BIG, "more than %d CSI drivers",
			DRIVERS_MAX);
	}
	node.limits = xcalloc(value_count(list), sizeof(*node.limits));
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		double count = 0;

		if (value_number(&count, value_at(v, "allocatable/count")) &&
			count >= 0 && count <= LIMIT_MAX) {
			node.limits[node.count++] = (struct driver_limit){
				.driver = names_hold(names,
					value_text_at(v, "name", "")),
				.volumes = (int64_t)count,
			};
		}
	}
	*out = xmemdup(&node, sizeof(node));
	return 0;
}

void csi_node_free(struct csi_node *node, struct names *names)
{
	if (node == NULL) {
		return;
	}
	for (size_t i = 0; i < node->count; i++) {
		names_drop(names, node->limits[i].driver);
	}
	free(node->limits);
	free(node);
}

int csi_driver_new(struct csi_driver **out, struct names *names,
	const struct value *object, struct error *err)
{
	const struct csi_driver driver = {
		.has_capacity =
			value_true(value_at(object, "spec/storageCapacity")),
	};

	(void)names;
	(void)err;
	*out = xmemdup(&driver, sizeof(driver));
	return 0;
}

void csi_driver_free(struct csi_driver *driver, struct names *names)
{
	(void)names;
	free(driver);
}

int capacity_new(struct capacity **out, struct names *names,
	const struct value *object, struct error *err)
{
	const struct value *most = value_get(object, "maximumVolumeSize");
	struct capacity capacity = { 0 };
	int r = label_selector_read(&capacity.nodes, names,
		value_get(object, "nodeTopology"), err);

	if (r < 0) {
		return r;
	}
	capacity.class_name = storage_text(object, "storageClassName");
	capacity.has_limit = storage_quantity(&capacity.limit,
		most != NULL ? most : value_get(object, "capacity"));
	*out = xmemdup(&capacity, sizeof(capacity));
	return 0;
}

void capacity_free(struct capacity *capacity, struct names *names)
{
	if (capacity == NULL) {
		return;
	}
	free(capacity->class_name);
	label_selector_fini(&capacity->nodes, names);
	free(capacity);
}

int attachment_new(struct attachment **out, struct names *names,
	const struct value *object, struct error *err)
{
	struct attachment *attachment = xcalloc(1, sizeof(*attachment));

	(void)err;
	attachment->volume =
		storage_text(object, "spec/source/persistentVolumeName");
	attachment->node =
		names_hold(names, value_text_at(object, "spec/nodeName", ""));
	attachment->driver =
		names_hold(names, value_text_at(object, "spec/attacher", ""));
	*out = attachment;
	return 0;
}

void attachment_free(struct attachment *attachment, struct names *names)
{
	if (attachment == NULL) {
		return;
	}
	free(attachment->volume);
	names_drop(names, attachment->node);
	names_drop(names, attachment->driver);
	free(attachment);
}
