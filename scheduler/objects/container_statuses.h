/* The statuses of a pod's containers, by name. Pure. */
#pragma once

#include "kube/json_value.h"

#include <stddef.h>

struct container_status;

/* Zeroed: none. */
struct container_statuses {
	struct container_status *list; /* owned; sorted by name, each once */
	size_t count;
};

/* status: a pod's, or NULL; outlives the statuses. As upstream, the last of
 * several statuses of one name counts, and those of init containers come
 * last. */
void container_statuses_read(struct container_statuses *out,
	const struct json_value *status);
void container_statuses_fini(struct container_statuses *statuses);

/* NULL: no status has the name. */
const struct json_value *container_statuses_find(
	const struct container_statuses *statuses, const char *name);
