#include "aggregator/live/identity.h"

#include "kube/json_value.h"
#include "lib/map.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

struct identities {
	struct map by_uid;			/* -> struct identity_ref */
	size_t known, placed, unsaved, removed; /* placed: with a node */
	bool is_complete;
};

/* Each report and each snapshot asks for thousands, and none is in the CPU's
 * cache: so the texts, the node's first, are next to what tells of them. */
struct identity_ref {
	unsigned int holders;
	unsigned int room; /* bytes in texts */
	bool is_known;	   /* or only held */
	bool has_node;
	bool is_saved;	 /* or has no node: then there is nothing to find */
	bool is_removed; /* waits to be saved */
	char *longer;	 /* owned; the texts, if they need more room; or NULL */
	struct identity identity; /* in texts, or in longer */
	char texts[];
};

/* Room for most identities of pods that are held before they are known. */
enum { ROOM_LEAST = 72 };

static size_t size_of(const struct identity *identity)
{
	return strlen(identity->namespace) + strlen(identity->name) +
		strlen(identity->vmi_uid) + strlen(identity->node) + 4;
}

static struct identity_ref *entry_new(size_t size)
{
	size_t room = size > ROOM_LEAST ? size : ROOM_LEAST;
	struct identity_ref *entry =
		xcalloc(1, offsetof(struct identity_ref, texts) + room);

	entry->room = (unsigned int)room;
	return entry;
}

static void entry_free(struct identity_ref *entry)
{
	free(entry->longer);
	free(entry);
}

static void fill(struct identity_ref *entry, const struct identity *identity)
{
	size_t size = size_of(identity);
	char *at = entry->texts;

	if (size > entry->room) {
		at = entry->longer = xcalloc(1, size);
	}
	entry->is_known = true;
	entry->has_node = identity->node[0] != '\0';
	entry->is_saved = !entry->has_node;
	entry->identity.node = place_text(&at, identity->node);
	entry->identity.namespace = place_text(&at, identity->namespace);
	entry->identity.name = place_text(&at, identity->name);
	entry->identity.vmi_uid = place_text(&at, identity->vmi_uid);
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

/* size: of the texts, if they are known. */
static struct identity_ref *get_or_add(struct identities *identities,
	const char *pod_uid, size_t size)
{
	struct identity_ref *entry = map_get(&identities->by_uid, pod_uid);

	if (entry == NULL) {
		entry = entry_new(size);
		(void)map_put(&identities->by_uid, pod_uid, entry);
	}
	return entry;
}

/* The entry's identity is not known any more. */
static void forget(struct identities *identities, struct identity_ref *entry)
{
	if (!entry->is_known) {
		return;
	}
	identities->known--;
	identities->placed -= entry->has_node;
	identities->unsaved -= !entry->is_saved;
	identities->removed -= entry->is_removed;
	free(take_ptr(entry->longer));
	entry->is_known = entry->is_removed = false;
}

/* Frees the entry if nobody needs it. */
static void tidy(struct identities *identities, const char *pod_uid,
	struct identity_ref *entry)
{
	if (!entry->is_known && entry->holders == 0) {
		(void)map_remove(&identities->by_uid, pod_uid);
		entry_free(entry);
	}
}

void identities_put(struct identities *identities, const char *pod_uid,
	const struct identity *identity)
{
	struct identity_ref *entry =
		get_or_add(identities, pod_uid, size_of(identity));

	if (entry->is_known && !entry->is_removed &&
		is_same(&entry->identity, identity)) {
		return;
	}
	forget(identities, entry);
	fill(entry, identity);
	identities->known++;
	identities->placed += entry->has_node;
	identities->unsaved += !entry->is_saved;
}

void identities_remove(struct identities *identities, const char *pod_uid)
{
	struct identity_ref *entry = map_get(&identities->by_uid, pod_uid);

	if (entry == NULL || !entry->is_known || entry->is_removed) {
		return;
	}
	if (entry->is_saved) {
		forget(identities, entry);
		tidy(identities, pod_uid, entry);
	} else {
		entry->is_removed = true;
		identities->removed++;
	}
}

struct identity_ref *identities_hold(struct identities *identities,
	const char *pod_uid)
{
	struct identity_ref *entry = get_or_add(identities, pod_uid, 0);

	entry->holders++;
	return entry;
}

void identities_release(struct identities *identities, const char *pod_uid,
	struct identity_ref *ref)
{
	if (ref != NULL) {
		ref->holders--;
		tidy(identities, pod_uid, ref);
	}
}

/* NULL: not known, or without a node. */
static const struct identity *known(const struct identity_ref *entry)
{
	return entry == NULL || !entry->is_known || entry->is_removed ||
			!entry->has_node
		? NULL
		: &entry->identity;
}

static const struct identity *find(const struct identities *identities,
	const char *pod_uid)
{
	return identities == NULL
		? NULL
		: known(map_get(&identities->by_uid, pod_uid));
}

const struct identity *identity_ref_get(const struct identity_ref *ref,
	const char *node)
{
	const struct identity *identity = known(ref);

	return identity == NULL || strcmp(identity->node, node) != 0 ? NULL
								     : identity;
}

const char *identity_ref_node(const struct identity_ref *ref)
{
	const struct identity *identity = known(ref);

	return identity == NULL ? NULL : identity->node;
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
		struct identity_ref *entry = value;

		if (!entry->is_known || entry->is_saved) {
			continue;
		}
		if (!save(owner, uid, &entry->identity)) {
			return false;
		}
		entry->is_saved = true;
		identities->unsaved--;
		if (entry->is_removed) {
			forget(identities, entry);
			tidy(identities, uid, entry);
		}
	}
	return true;
}

void identities_unsave(struct identities *identities)
{
	size_t at = 0;
	void *value;

	if (identities->unsaved == identities->placed) {
		return; /* thousands of saves fail together */
	}
	while (map_next(&identities->by_uid, &at, NULL, &value)) {
		struct identity_ref *entry = value;

		entry->is_saved = !entry->is_known || !entry->has_node;
	}
	identities->unsaved = identities->placed;
}

void identities_set_complete(struct identities *identities)
{
	identities->is_complete = true;
}

bool identities_are_complete(const struct identities *identities)
{
	return identities != NULL && identities->is_complete;
}

bool identities_have_vm(const struct identities *identities,
	const char *namespace, const char *name)
{
	size_t at = 0;
	void *value;

	while (map_next(&identities->by_uid, &at, NULL, &value)) {
		const struct identity_ref *entry = value;

		if (entry->is_known && !entry->is_removed &&
			strcmp(entry->identity.name, name) == 0 &&
			strcmp(entry->identity.namespace, namespace) == 0) {
			return true;
		}
	}
	return false;
}

size_t identities_count(const struct identities *identities)
{
	return identities->known - identities->removed;
}

size_t identities_entries(const struct identities *identities)
{
	return identities->by_uid.count;
}
