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

static void free_object(enum storage_kind kind, void *object,
	struct interner *interner)
{
	if (object != NULL && types[kind]->fini != NULL) {
		types[kind]->fini(object, interner);
	}
	free(object);
}

void storage_fini(struct storage *storage, struct interner *interner)
{
	for (int i = 0; i < STORAGE_KINDS; i++) {
		size_t at = 0;
		void *object;

		while (map_next(&storage->maps[i], &at, NULL, &object)) {
			free_object((enum storage_kind)i, object, interner);
		}
		map_fini(&storage->maps[i]);
	}
	*storage = (struct storage){ 0 };
}

static char *key_of(const char *namespace_name, const char *name)
{
	return *namespace_name == '\0'
		? xstrdup(name)
		: xasprintf("%s/%s", namespace_name, name);
}

/* An assumption stays until the API server has a decision. */
static void inherit_claim(struct claim *fresh, struct claim *old)
{
	if (strcmp(fresh->uid, old->uid) == 0 && fresh->selected_node == NULL &&
		!fresh->is_bound) {
		fresh->assumed_node = take_ptr(old->assumed_node);
	}
}

static void inherit_volume(struct volume *fresh, struct volume *old)
{
	if (strcmp(fresh->uid, old->uid) == 0 &&
		(fresh->claim_uid == NULL || *fresh->claim_uid == '\0')) {
		fresh->assumed_uid = take_ptr(old->assumed_uid);
	}
}

int storage_put(struct storage *storage, enum storage_kind kind,
	struct interner *interner, const struct json_value *object,
	struct error *err)
{
	const char *name = json_value_text_at(object, "metadata/name", "");
	scoped_free char *key = key_of(
		json_value_text_at(object, "metadata/namespace", ""), name);
	void *fresh;
	void *old;
	int r;

	if (*name == '\0') {
		return error_set(err, -EBADMSG, "an object has no name");
	}
	fresh = xcalloc(1, types[kind]->size);
	r = types[kind]->read(fresh, interner, object, err);
	if (r < 0) {
		free_object(kind, fresh, interner);
		return error_wrap(err, r, "'%.200s'", key);
	}
	old = map_put(&storage->maps[kind], key, fresh);
	if (old != NULL && kind == STORAGE_CLAIMS) {
		inherit_claim(fresh, old);
	} else if (old != NULL && kind == STORAGE_VOLUMES) {
		inherit_volume(fresh, old);
	}
	free_object(kind, old, interner);
	return 0;
}

void storage_remove(struct storage *storage, enum storage_kind kind,
	struct interner *interner, const char *namespace_name, const char *name)
{
	scoped_free char *key = key_of(namespace_name, name);

	free_object(kind, map_remove(&storage->maps[kind], key), interner);
}

struct claim *storage_claim(const struct storage *storage,
	const char *namespace_name, const char *name)
{
	scoped_free char *key = key_of(namespace_name, name);

	return map_get(&storage->maps[STORAGE_CLAIMS], key);
}

struct volume *storage_volume(const struct storage *storage, const char *name)
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
