#include "scheduler/objects/unsupported.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lib/memory.h"

/* Any value but an empty one forbids the pod. */
static const struct field {
	const char *path;
	const char *what;
} fields[] = {
	{ "resourceClaims", "resource claims" },
	{ "schedulingGroup", "a scheduling group" },
};

/* Volumes that are looked at (pod_volumes.h), or that no filter of
 * kube-scheduler looks at. Not among them are those that CSI migration
 * rewrites, and those we have never heard of. */
static const char *const known_volumes[] = {
	"azureFile",
	"cephfs",
	"configMap",
	"csi",
	"downwardAPI",
	"emptyDir",
	"ephemeral",
	"fc",
	"flexVolume",
	"flocker",
	"gitRepo",
	"glusterfs",
	"hostPath",
	"image",
	"iscsi",
	"nfs",
	"persistentVolumeClaim",
	"photonPersistentDisk",
	"portworxVolume",
	"projected",
	"quobyte",
	"rbd",
	"scaleIO",
	"secret",
	"storageos",
	"vsphereVolume",
};

static char *sentence(const char *what)
{
	return xasprintf(
		"pod has %s, which plimsoll-scheduler does not support", what);
}

static bool is_known_volume(const char *type)
{
	for (size_t i = 0; i < count_of(known_volumes); i++) {
		if (strcmp(type, known_volumes[i]) == 0) {
			return true;
		}
	}
	return false;
}

/* A volume is its name and one member, whose key is the type. NULL if it needs
 * no decision. */
static const char *refused_type(const struct value *volume)
{
	for (const struct value *m = value_first(volume); m != NULL;
		m = value_next(m)) {
		const char *type = value_key(m);

		if (type != NULL && strcmp(type, "name") != 0 &&
			!is_known_volume(type)) {
			return type;
		}
	}
	return NULL;
}

static char *refused_volume(const struct value *volumes)
{
	for (const struct value *v = value_first(volumes); v != NULL;
		v = value_next(v)) {
		const char *type = refused_type(v);

		if (type != NULL) {
			scoped_free char *what =
				xasprintf("a volume of type %.60s", type);

			return sentence(what);
		}
	}
	return NULL;
}

char *unsupported_constraint(const struct value *spec)
{
	for (size_t i = 0; i < count_of(fields); i++) {
		if (value_first(value_at(spec, fields[i].path)) != NULL) {
			return sentence(fields[i].what);
		}
	}
	return refused_volume(value_get(spec, "volumes"));
}
