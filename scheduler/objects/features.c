#include "scheduler/objects/features.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lib/memory.h"

static bool restarts_all(const struct json_value *container)
{
	const struct json_value *rules =
		json_value_get(container, "restartPolicyRules");

	for (const struct json_value *v = json_value_first(rules); v != NULL;
		v = json_value_next(v)) {
		if (strcmp(json_value_text_at(v, "action", ""),
			    "RestartAllContainers") == 0) {
			return true;
		}
	}
	return false;
}

static bool has_bind_options(const struct json_value *container)
{
	const struct json_value *mounts =
		json_value_get(container, "volumeMounts");

	for (const struct json_value *v = json_value_first(mounts); v != NULL;
		v = json_value_next(v)) {
		if (json_value_first(json_value_get(v, "bindMountOptions")) !=
			NULL) {
			return true;
		}
	}
	return false;
}

static uint8_t features_of_containers(const struct json_value *list)
{
	uint8_t set = 0;

	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		if (restarts_all(v)) {
			set |= FEATURE_RESTART_ALL_CONTAINERS;
		}
		if (has_bind_options(v)) {
			set |= FEATURE_BIND_MOUNT_OPTIONS;
		}
	}
	return set;
}

uint8_t features_of_pod(const struct json_value *spec)
{
	uint8_t set =
		features_of_containers(json_value_get(spec, "containers")) |
		features_of_containers(json_value_get(spec, "initContainers"));

	if (json_value_true(json_value_get(spec, "hostNetwork")) &&
		json_value_false(json_value_get(spec, "hostUsers"))) {
		set |= FEATURE_HOST_NETWORK_USER_NAMESPACES;
	}
	return set;
}

/* 0: one that no pod here requires. */
static uint8_t feature_named(const char *name)
{
	static const struct {
		const char *name;
		uint8_t feature;
	} names[] = {
		{ "RestartAllContainersOnContainerExits",
			FEATURE_RESTART_ALL_CONTAINERS },
		{ "UserNamespacesHostNetworkSupport",
			FEATURE_HOST_NETWORK_USER_NAMESPACES },
		{ "VolumeBindMountOptions", FEATURE_BIND_MOUNT_OPTIONS },
	};

	for (size_t i = 0; i < count_of(names) && name != NULL; i++) {
		if (strcmp(name, names[i].name) == 0) {
			return names[i].feature;
		}
	}
	return 0;
}

uint8_t features_of_node(const struct json_value *object)
{
	const struct json_value *list =
		json_value_at(object, "status/declaredFeatures");
	uint8_t set = 0;

	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		set |= feature_named(json_value_text(v));
	}
	return set;
}
