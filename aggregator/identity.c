#include "aggregator/identity.h"

#include "kube/value.h"
#include "lib/map.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

struct identities {
	struct map by_uid; /* -> struct entry */
};

struct entry {
	struct identity identity;
	char *namespace, *name, *vmi_uid; /* owned; what identity shows */
};

static void entry_free(struct entry *entry)
{
	if (entry != NULL) {
		free(entry->namespace);
		free(entry->name);
		free(entry->vmi_uid);
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

/* Kubernetes allows an annotation 256 KiB, but no object such a name. */
static bool is_name(const char *text)
{
	return text != NULL && text[0] != '\0' &&
		strlen(text) <= IDENTITY_TEXT_MAX;
}

bool identity_read(struct identity *out, const struct value *pod)
{
	const struct value *meta = value_get(pod, "metadata");
	const struct value *annotations = value_get(meta, "annotations");
	const struct value *labels = value_get(meta, "labels");
	const char *vmi_uid =
		value_text(value_get(labels, "kubevirt.io/created-by"));
	struct identity read = {
		.namespace = value_text(value_get(meta, "namespace")),
		.name = value_text(
			value_get(annotations, "kubevirt.io/domain")),
		.vmi_uid = vmi_uid == NULL ? "" : vmi_uid,
	};

	if (!is_name(read.namespace) || !is_name(read.name) ||
		strlen(read.vmi_uid) > IDENTITY_TEXT_MAX) {
		return false;
	}
	*out = read;
	return true;
}

void identities_put(struct identities *identities, const char *pod_uid,
	const struct identity *identity)
{
	struct entry *entry = xcalloc(1, sizeof(*entry));

	entry->namespace = xstrdup(identity->namespace);
	entry->name = xstrdup(identity->name);
	entry->vmi_uid = xstrdup(identity->vmi_uid);
	entry->identity = (struct identity){ entry->namespace, entry->name,
		entry->vmi_uid };
	entry_free(map_put(&identities->by_uid, pod_uid, entry));
}

void identities_remove(struct identities *identities, const char *pod_uid)
{
	entry_free(map_remove(&identities->by_uid, pod_uid));
}

const struct identity *identities_find(const struct identities *identities,
	const char *pod_uid)
{
	const struct entry *entry = identities == NULL
		? NULL
		: map_get(&identities->by_uid, pod_uid);

	return entry == NULL ? NULL : &entry->identity;
}

size_t identities_count(const struct identities *identities)
{
	return identities->by_uid.count;
}
