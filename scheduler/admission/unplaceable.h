/* Finds what plimsoll cannot place in a new pod, which is then left to the
 * scheduler that it names. Pure. */
#pragma once

#include "kube/json_value.h"
#include "scheduler/cluster/storage.h"

/* The reason as unsupported_spec() and, for a claim of this namespace,
 * storage_unsupported() have it. The caller frees the text. NULL: the pod can
 * be placed, as far as its spec and the storage objects say. */
char *unplaceable_why(const struct storage *storage, const char *namespace_name,
	const struct json_value *pod);
