/* Requests and limits of a pod that only the upstream policies use to score.
 * Pure. */
#pragma once

#include "kube/json_value.h"
#include "scheduler/objects/resources.h"

#include <stddef.h>
#include <stdint.h>

/* The CPU of one container; 0 where it is left out. */
struct nonzero_container {
	int64_t limit_milli, request_milli;
};

/* All figures are capped at 2^50, so that sums of thousands stay exact. */
struct nonzero_requests {
	int64_t cpu_milli, memory_bytes;  /* NonZeroRequested */
	int64_t limit_milli, limit_bytes; /* at least the requests */
	int64_t overhead_milli;
	struct nonzero_container *containers; /* owned; spec.containers */
	size_t container_count;
};

/* requests are the result of resources_read_requests() for spec. */
void nonzero_read(struct nonzero_requests *out, const struct json_value *spec,
	const struct resources *requests);
void nonzero_fini(struct nonzero_requests *nonzero);
