#include "scheduler/objects/unsupported.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lib/memory.h"
#include "scheduler/objects/value_list.h"

/* Any value but an empty one makes the pod unsupported. */
static const struct field {
	const char *path;
	const char *what;
} fields[] = {
	{ "resourceClaims", "resource claims" },
	{ "schedulingGroup", "a scheduling group" },
};

/* Volumes that objects/pod_volumes.h reads, or that no filter of kube-scheduler
 * reads. Types that CSI migration rewrites, and unknown types, are missing. */
static const char *const supported_volumes[] = { "azureFile", "cephfs",
	"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "fc",
	"flexVolume", "flocker", "gitRepo", "glusterfs", "hostPath", "image",
	"iscsi", "nfs", "persistentVolumeClaim", "photonPersistentDisk",
	"portworxVolume", "projected", "quobyte", "rbd", "scaleIO", "secret",
	"storageos", "vsphereVolume" };

static char *describe(const char *what)
{
	return xasprintf(
		"pod has %s, which plimsoll-scheduler does not support", what);
}

/* A volume has a name and one more member, whose key is the type. NULL:
 * supported. */
static const char *unsupported_type(const struct json_value *volume)
{
	for (const struct json_value *m = json_value_first(volume); m != NULL;
		m = json_value_next(m)) {
		const char *type = json_value_key(m);

		if (type != NULL && strcmp(type, "name") != 0 &&
			value_list_find(supported_volumes,
				count_of(supported_volumes),
				type) == count_of(supported_volumes)) {
			return type;
		}
	}
	return NULL;
}

static char *unsupported_volume(const struct json_value *volumes)
{
	for (const struct json_value *v = json_value_first(volumes); v != NULL;
		v = json_value_next(v)) {
		const char *type = unsupported_type(v);

		if (type != NULL) {
			scoped_free char *what =
				xasprintf("a volume of type %.60s", type);

			return describe(what);
		}
	}
	return NULL;
}

/* The values in a list or object and in those within it. */
static size_t count_values(const struct json_value *value)
{
	size_t count = 0;

	for (const struct json_value *v = json_value_first(value); v != NULL;
		v = json_value_next(v)) {
		count += 1 + count_values(v);
	}
	return count;
}

static char *too_many(int max, const char *what)
{
	scoped_free char *text = xasprintf("more than %d %s", max, what);

	return describe(text);
}

static char *too_long(const struct json_value *spec)
{
	static const char *const lists[] = { "affinity", "tolerations",
		"topologySpreadConstraints" };
	size_t count = 0;

	for (size_t i = 0; i < count_of(lists); i++) {
		count += count_values(json_value_get(spec, lists[i]));
	}
	if (count > CONSTRAINT_VALUES_MAX) {
		return too_many(CONSTRAINT_VALUES_MAX,
			"values in affinity, tolerations and topology spread "
			"constraints");
	}
	return json_value_count(json_value_get(spec, "volumes")) >
			CONSTRAINT_VOLUMES_MAX
		? too_many(CONSTRAINT_VOLUMES_MAX, "volumes")
		: NULL;
}

char *unsupported_spec(const struct json_value *spec)
{
	char *why = too_long(spec);

	for (size_t i = 0; i < count_of(fields) && why == NULL; i++) {
		if (json_value_first(json_value_at(spec, fields[i].path)) !=
			NULL) {
			why = describe(fields[i].what);
		}
	}
	return why != NULL
		? why
		: unsupported_volume(json_value_get(spec, "volumes"));
}

char *unsupported_constraint(const struct json_value *spec,
	const struct resources *requests)
{
	char *why = unsupported_spec(spec);

	return why == NULL && requests->scalar_count > RESOURCES_POD_MAX
		? too_many(RESOURCES_POD_MAX,
			  "kinds of extended resources and huge pages")
		: why;
}
