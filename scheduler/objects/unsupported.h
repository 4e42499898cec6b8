/* Pod constraints that plimsoll-scheduler does not support.
 *
 * The API server has no limits but the size of an object, 1.5 MiB. The limits
 * here keep one pod from stopping the decisions about all others: a decision
 * reads the constraints of its pod for each node, and some of them for each pod
 * on a node. */
#pragma once

#include "kube/json_value.h"
#include "scheduler/objects/resources.h"

/* JSON values in the affinity, the tolerations and the spread constraints
 * together. A usual constraint has about ten values. */
enum { CONSTRAINT_VALUES_MAX = 16384 };
enum { CONSTRAINT_VOLUMES_MAX = 4096 };

/* The reason to refuse a pod with this spec, as a phrase that fits behind "0/3
 * nodes are available: ". The caller frees the text. NULL: the spec is
 * supported. */
char *unsupported_spec(const struct json_value *spec);

/* The same, and the reason to refuse a pod with these requests. */
char *unsupported_constraint(const struct json_value *spec,
	const struct resources *requests);
