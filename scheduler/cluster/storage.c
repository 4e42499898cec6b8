#include "scheduler/cluster/storage.h"

#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void free_object(enum storage_kind kind, void *object,
	struct names *names)
{
	switch (kind) {
	case STORAGE_CLAIMS:
		claim_free(object, names);
		break;
	case STORAGE_VOLUMES:
		volume_free(object, names);
		break;
	case STORAGE_CLASSES:
		storage_class_free(object, names);
		break;
	case STORAGE_CSI_NODES:
		csi_node_free(object, names);
		break;
	case STORAGE_CSI_DRIVERS:
		csi_driver_free(object, names);
		break;
	case STORAGE_CAPACITIES:
		capacity_free(object, names);
		break;
	case STORAGE_ATTACHMENTS:
		attachment_free(object, names);
		break;
	case STORAGE_KINDS:
		break;
	}
}

void storage_fini(struct storage *storage, struct names *names)
{
	for (int i = 0; i < STORAGE_KINDS; i++) {
		size_t at = 0;
		void *object;

		while (map_next(&storage->maps[i], &at, NULL, &object)) {
			free_object((enum storage_kind)i, object, names);
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

static int make_object(void **out, enum storage_kind kind, struct names *names,
	const struct value *object, struct error *err)
{
	switch (kind) {
	case STORAGE_CLAIMS:
		return claim_new((struct claim **)out, names, object, err);
	case STORAGE_VOLUMES:
		return volume_new((struct volume **)out, names, object, err);
	case STORAGE_CLASSES:
		return storage_class_new((struct storage_class **)out, names,
			object, err);
	case STORAGE_CSI_NODES:
		return csi_node_new((struct csi_node **)out, names, object,
			err);
	case STORAGE_CSI_DRIVERS:
		return csi_driver_new((struct csi_driver **)out, names, object,
			err);
	case STORAGE_CAPACITIES:
		return capacity_new((struct capacity **)out, names, object,
			err);
	case STORAGE_ATTACHMENTS:
	case STORAGE_KINDS:
		break;
	}
	return attachment_new((struct attachment **)out, names, object, err);
}

/* What we decided stays until the API server says something of the kind. */
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
	struct names *names, const struct value *object, struct error *err)
{
	const char *name = value_text_at(object, "metadata/name", "");
	scoped_free char *key =
		key_of(value_text_at(object, "metadata/namespace", ""), name);
	void *fresh = NULL;
	void *old;
	int r;

	if (*name == '\0') {
		return error_set(err, -EBADMSG, "an object has no name");
	}
	r = make_object(&fresh, kind, names, object, err);
	if (r < 0) {
		return error_wrap(err, r, "'%.200s'", key);
	}
	old = map_put(&storage->maps[kind], key, fresh);
	if (old != NULL && kind == STORAGE_CLAIMS) {
		inherit_claim(fresh, old);
	} else if (old != NULL && kind == STORAGE_VOLUMES) {
		inherit_volume(fresh, old);
	}
	free_object(kind, old, names);
	return 0;
}

void storage_remove(struct storage *storage, enum storage_kind kind,
	struct names *names, const char *namespace_name, const char *name)
{
	scoped_free char *key = key_of(namespace_name, name);

	free_object(kind, map_remove(&storage->maps[kind], key), names);
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

bool storage_identify(const struct storage *storage, const struct claim *claim,
	uint32_t *driver, uint32_t *handle)
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
