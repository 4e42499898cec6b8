#include "aggregator/live/identity.h"

#include "kube/json_value.h"
#include "lib/map.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

struct identities {
	struct map by_uid; /* -> struct entry */
	size_t unsaved, removed;
};

struct entry {
	struct identity identity;
	char *namespace, *name, *vmi_uid, *node; /* owned; of identity */
	bool is_saved;
	bool is_removed; /* waits to be saved */
};

static void entry_free(struct entry *entry)
{
	if (entry != NULL) {
		free(entry->namespace);
		free(entry->name);
		free(entry->vmi_uid);
		free(entry->node);
		free(entry);
	}
}

struct identities *identities_new(void)
{
	return xcalloc(1, sizeof(struct identities));
}

void identities_free(struct identities *identities)
{
	size_t at = 0;
	void *entry;

	if (identities == NULL) {
		return;
	}
	while (map_next(&identities->by_uid, &at, NULL, &entry)) {
		entry_free(entry);
	}
	map_fini(&identities->by_uid);
	free(identities);
}

/* The owner of a pod writes its annotations. They may have 256 KiB and any
 * character, but no object has such a name, and the wire has no such text. */
static bool is_name(const char *text)
{
	size_t len = 0;

	while (text != NULL && len < IDENTITY_TEXT_MAX && text[len] > ' ' &&
		text[len] <= '~') {
		len++;
	}
	return text != NULL && len > 0 && text[len] == '\0';
}

bool identity_read(struct identity *out, const struct json_value *pod)
{
	const struct json_value *meta = json_value_get(pod, "metadata");
	const struct json_value *annotations =
		json_value_get(meta, "annotations");
	const struct json_value *labels = json_value_get(meta, "labels");
	const char *node = json_value_text(
		json_value_get(json_value_get(pod, "spec"), "nodeName"));
	const char *vmi_uid = json_value_text(
		json_value_get(labels, "kubevirt.io/created-by"));
	struct identity read = {
		.namespace = json_value_text(json_value_get(meta, "namespace")),
		.name = json_value_text(
			json_value_get(annotations, "kubevirt.io/domain")),
		.vmi_uid = vmi_uid == NULL ? "" : vmi_uid,
		.node = node == NULL ? "" : node,
	};

	if (!is_name(read.namespace) || !is_name(read.name) ||
		strlen(read.vmi_uid) > IDENTITY_TEXT_MAX ||
		strlen(read.node) > IDENTITY_TEXT_MAX) {
		return false;
	}
	*out = read;
	return true;
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return strcmp(a->namespace, b->namespace) == 0 &&
		strcmp(a->name, b->name) == 0 &&
		strcmp(a->vmi_uid, b->vmi_uid) == 0 &&
		strcmp(a->node, b->node) == 0;
}

/* Frees an entry that is not in the table any more; NULL is fine. */
static void drop(struct identities *identities, struct entry *entry)
{
	if (entry == NULL) {
		return;
	}
	identities->unsaved -= !entry->is_saved;
	identities->removed -= entry->is_removed;
	entry_free(entry);
}

void identities_put(struct identities *identities, const char *pod_uid,
	const struct identity *identity)
{
	struct entry *entry = map_get(&identities->by_uid, pod_uid);

	if (entry != NULL && !entry->is_removed &&
		is_same(&entry->identity, identity)) {
		return;
	}
	entry = xcalloc(1, sizeof(*entry));
	entry->namespace = xstrdup(identity->namespace);
	entry->name = xstrdup(identity->name);
	entry->vmi_uid = xstrdup(identity->vmi_uid);
	entry->node = xstrdup(identity->node);
	entry->identity = (struct identity){ entry->namespace, entry->name,
		entry->vmi_uid, entry->node };
	identities->unsaved++;
	drop(identities, map_put(&identities->by_uid, pod_uid, entry));
}

void identities_remove(struct identities *identities, const char *pod_uid)
{
	struct entry *entry = map_get(&identities->by_uid, pod_uid);

	if (entry == NULL || entry->is_removed) {
		return;
	}
	if (entry->is_saved || entry->node[0] == '\0') {
		drop(identities, map_remove(&identities->by_uid, pod_uid));
	} else {
		entry->is_removed = true;
		identities->removed++;
	}
}

/* NULL: not known, or without a node. */
static const struct identity *find(const struct identities *identities,
	const char *pod_uid)
{
	const struct entry *entry = identities == NULL
		? NULL
		: map_get(&identities->by_uid, pod_uid);

	return entry == NULL || entry->is_removed || entry->node[0] == '\0'
		? NULL
		: &entry->identity;
}

const struct identity *identities_find(const struct identities *identities,
	const char *pod_uid, const char *node)
{
	const struct identity *identity = find(identities, pod_uid);

	return identity == NULL || strcmp(identity->node, node) != 0 ? NULL
								     : identity;
}

const char *identities_node(const struct identities *identities,
	const char *pod_uid)
{
	const struct identity *identity = find(identities, pod_uid);

	return identity == NULL ? NULL : identity->node;
}

bool identities_save(struct identities *identities,
	bool (*save)(void *owner, const char *pod_uid,
		const struct identity *identity),
	void *owner)
{
	const char *uid;
	void *value;
	size_t at = 0;

	while (identities->unsaved > 0 &&
		map_next(&identities->by_uid, &at, &uid, &value)) {
		struct entry *entry = value;

		if (entry->is_saved) {
			continue;
		}
		if (!save(owner, uid, &entry->identity)) {
			return false;
		}
		entry->is_saved = true;
		identities->unsaved--;
		if (entry->is_removed) {
			drop(identities, map_remove(&identities->by_uid, uid));
		}
	}
	return true;
}

void identities_unsave(struct identities *identities)
{
	size_t at = 0;
	void *entry;

	if (identities->unsaved == identities->by_uid.count) {
		return; /* thousands of saves fail together */
	}
	while (map_next(&identities->by_uid, &at, NULL, &entry)) {
		((struct entry *)entry)->is_saved = false;
	}
	identities->unsaved = identities->by_uid.count;
}

size_t identities_count(const struct identities *identities)
{
	return identities->by_uid.count - identities->removed;
}
