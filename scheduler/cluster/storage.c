#include "scheduler/cluster/storage.h"

#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct storage_type *const types[] = {
	[STORAGE_CLAIMS] = &storage_claim_type,
	[STORAGE_VOLUMES] = &storage_volume_type,
	[STORAGE_CLASSES] = &storage_class_type,
	[STORAGE_CSI_NODES] = &storage_csi_node_type,
	[STORAGE_CSI_DRIVERS] = &storage_csi_driver_type,
	[STORAGE_CAPACITIES] = &storage_capacity_type,
	[STORAGE_ATTACHMENTS] = &storage_attachment_type,
};

static void free_object(struct storage_object *object,
	struct interner *interner)
{
	if (object->type->fini != NULL) {
		object->type->fini(object, interner);
	}
	free(object);
}

static void *share_object(void *value)
{
	struct storage_object *object = value;

	object->copies++;
	return object;
}

static void drop_object(void *value, struct interner *interner)
{
	struct storage_object *object = value;

	if (object != NULL && object->copies > 0) {
		object->copies--;
	} else if (object != NULL) {
		free_object(object, interner);
	}
}

const struct shared_values storage_object_values = { share_object,
	drop_object };

static void *copy_text(void *value)
{
	return xstrdup(value);
}

static void free_text(void *value, struct interner *interner)
{
	(void)interner;
	free(value);
}

const struct shared_values storage_text_values = { copy_text, free_text };

void storage_fini(struct storage *storage, struct interner *interner)
{
	for (int i = 0; i < STORAGE_KINDS; i++) {
		shared_map_fini(&storage->maps[i], &storage_object_values,
			interner);
	}
	shared_map_fini(&storage->assumed_nodes, &storage_text_values,
		interner);
	shared_map_fini(&storage->assumed_uids, &storage_text_values, interner);
}

static char *key_of(const char *namespace_name, const char *name)
{
	return *namespace_name == '\0'
		? xstrdup(name)
		: xasprintf("%s/%s", namespace_name, name);
}

/* An assumption stays until the API server has a decision. */
static bool keeps_node(const struct claim *fresh, const struct claim *old)
{
	return old != NULL && strcmp(fresh->uid, old->uid) == 0 &&
		fresh->selected_node == NULL && !fresh->is_bound;
}

static bool keeps_uid(const struct volume *fresh, const struct volume *old)
{
	return old != NULL && strcmp(fresh->uid, old->uid) == 0 &&
		(fresh->claim_uid == NULL || *fresh->claim_uid == '\0');
}

static void inherit(struct storage *storage, enum storage_kind kind,
	const void *fresh, const void *old)
{
	if (kind == STORAGE_CLAIMS && !keeps_node(fresh, old)) {
		storage_assume_node(storage, fresh, NULL);
	} else if (kind == STORAGE_VOLUMES && !keeps_uid(fresh, old)) {
		storage_assume_uid(storage, fresh, NULL);
	}
}

int storage_put(struct storage *storage, enum storage_kind kind,
	struct interner *interner, const struct json_value *object,
	struct error *err)
{
	const char *name = json_value_text_at(object, "metadata/name", "");
	scoped_free char *key = key_of(
		json_value_text_at(object, "metadata/namespace", ""), name);
	struct storage_object *fresh;
	void *old;
	int r;

	if (*name == '\0') {
		return error_set(err, -EBADMSG, "an object has no name");
	}
	fresh = xcalloc(1, types[kind]->size);
	fresh->type = types[kind];
	r = types[kind]->read(fresh, interner, object, err);
	if (r < 0) {
		free_object(fresh, interner);
		return error_wrap(err, r, "'%.200s'", key);
	}
	old = map_put(&storage->maps[kind], key, fresh);
	inherit(storage, kind, fresh, old);
	drop_object(old, interner);
	return 0;
}

void storage_remove(struct storage *storage, enum storage_kind kind,
	struct interner *interner, const char *namespace_name, const char *name)
{
	scoped_free char *key = key_of(namespace_name, name);

	if (kind == STORAGE_CLAIMS) {
		free(map_remove(&storage->assumed_nodes, key));
	} else if (kind == STORAGE_VOLUMES) {
		free(map_remove(&storage->assumed_uids, key));
	}
	drop_object(map_remove(&storage->maps[kind], key), interner);
}

const struct claim *storage_claim(const struct storage *storage,
	const char *namespace_name, const char *name)
{
	scoped_free char *key = key_of(namespace_name, name);

	return map_get(&storage->maps[STORAGE_CLAIMS], key);
}

const struct volume *storage_volume(const struct storage *storage,
	const char *name)
{
	return map_get(&storage->maps[STORAGE_VOLUMES], name);
}

const struct storage_class *storage_class(const struct storage *storage,
	const char *name)
{
	return map_get(&storage->maps[STORAGE_CLASSES], name);
}

const struct csi_node *storage_csi_node(const struct storage *storage,
	const char *node)
{
	return map_get(&storage->maps[STORAGE_CSI_NODES], node);
}

const struct csi_driver *storage_csi_driver(const struct storage *storage,
	const char *name)
{
	return map_get(&storage->maps[STORAGE_CSI_DRIVERS], name);
}

bool storage_csi_handle(const struct storage *storage,
	const struct claim *claim, uint32_t *driver, uint32_t *handle)
{
	const struct volume *volume = storage_volume(storage, claim->volume);
	const struct storage_class *class;

	if (volume != NULL) {
		*driver = volume->driver;
		*handle = volume->handle;
		return volume->driver != 0;
	}
	class = storage_class(storage, claim->class_name);
	if (class == NULL || *class->provisioner == '\0') {
		return false;
	}
	*driver = class->driver;
	*handle = claim->placeholder;
	return true;
}

static char *unsupported(const char *what, const char *type)
{
	return xasprintf(
		"pod has a claim on %s %s, which plimsoll-scheduler does "
		"not support",
		what, type);
}

char *storage_unsupported(const struct storage *storage,
	const struct claim *claim)
{
	const struct volume *volume = storage_volume(storage, claim->volume);
	const struct storage_class *class =
		storage_class(storage, claim->class_name);

	if (*claim->volume != '\0') {
		return volume == NULL || volume->migrated == NULL
			? NULL
			: unsupported("a volume of type", volume->migrated);
	}
	return class == NULL || !class->is_migrated
		? NULL
		: unsupported("a class of", class->provisioner);
}

/* ---- what is assumed ---- */

static void assume(struct map *assumed, const char *key, const char *text)
{
	free(text == NULL ? map_remove(assumed, key)
			  : map_put(assumed, key, xstrdup(text)));
}

void storage_assume_node(struct storage *storage, const struct claim *claim,
	const char *node)
{
	scoped_free char *key = key_of(claim->namespace_name, claim->name);

	assume(&storage->assumed_nodes, key, node);
}

void storage_assume_uid(struct storage *storage, const struct volume *volume,
	const char *claim_uid)
{
	assume(&storage->assumed_uids, volume->name, claim_uid);
}

/* Nearly always nothing is assumed, and no key is made then. */
const char *storage_assumed_node(const struct storage *storage,
	const struct claim *claim)
{
	scoped_free char *key = NULL;

	if (storage->assumed_nodes.count == 0) {
		return NULL;
	}
	key = key_of(claim->namespace_name, claim->name);
	return map_get(&storage->assumed_nodes, key);
}

const char *storage_assumed_uid(const struct storage *storage,
	const struct volume *volume)
{
	return storage->assumed_uids.count == 0
		? NULL
		: map_get(&storage->assumed_uids, volume->name);
}
