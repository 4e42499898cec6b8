/* Features of kubelets that pods need and nodes declare: kube-scheduler's
 * NodeDeclaredFeatures. A feature that no pod can need is left out. */
#pragma once

#include "kube/json_value.h"

#include <stdint.h>

/* Bits of a set. */
enum feature {
	FEATURE_RESTART_ALL_CONTAINERS = 1,
	FEATURE_HOST_NETWORK_USER_NAMESPACES = 2,
	FEATURE_BIND_MOUNT_OPTIONS = 4,
};

/* The features that a pod with this spec needs. */
uint8_t features_of_pod(const struct json_value *spec);

/* The features in status.declaredFeatures of a Node. */
uint8_t features_of_node(const struct json_value *object);
