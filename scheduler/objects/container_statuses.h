/* The statuses of a pod's containers, by name; which containers keep running.
 * Pure. */
#pragma once

#include "kube/json_value.h"

#include <stdbool.h>
#include <stddef.h>

struct container_status;

/* Zeroed: none. */
struct container_statuses {
	struct container_status *list; /* owned; sorted by name, each once */
	size_t count;
};

/* status: a pod's, or NULL; outlives the statuses. Those of init containers
 * come last. As upstream, the first of several statuses of one name counts
 * since 1.37, and the last before. */
void container_statuses_read(struct container_statuses *out,
	const struct json_value *status, bool keeps_first);
void container_statuses_fini(struct container_statuses *statuses);

/* An init container with restartPolicy Always. */
bool container_is_sidecar(const struct json_value *container);

/* NULL: no status has the name. */
const struct json_value *container_statuses_find(
	const struct container_statuses *statuses, const char *name);
