/* Constraints the scheduler cannot keep yet: see pod.h. */
#pragma once

#include "kube/json_value.h"

/* Why a pod with this spec must be refused, as a phrase that fits behind
 * "0/3 nodes are available: ". Owned by the caller; NULL if nothing stands
 * against it. */
char *unsupported_constraint(const struct value *spec);
