/* A digest of the parts of a Node that may let a pending pod fit: labels,
 * taints, unschedulable, allocatable. Heartbeats do not change it. Pure. */
#pragma once

#include "kube/json_value.h"

#include <stdint.h>

/* Comparable within one process: see lib/hash.h. */
uint64_t node_digest(const struct json_value *object);
