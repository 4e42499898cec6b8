/* What a pod's containers ask for beyond what filters count: the figures that
 * the policies of others score by. Pure. */
#pragma once

#include "kube/json_value.h"
#include "scheduler/objects/resources.h"

#include <stddef.h>
#include <stdint.h>

/* kube-scheduler's GetNonzeroRequests: a container that leaves out cpu or
 * memory is scored as if it asked for these; an explicit 0 stays 0. */
#define ASKS_DEFAULT_CPU_MILLI INT64_C(100)
#define ASKS_DEFAULT_MEMORY_BYTES (INT64_C(200) << 20)

/* More containers than any pod has are scored without their CPU. */
enum { ASKS_CONTAINERS_MAX = 64 };

/* Of one container: what it may use at most, or asks for; 0 where left out. */
struct asks_container {
	int64_t limit_milli, request_milli;
};

/* All figures are capped at 2^50, so that sums of thousands stay exact. */
struct asks {
	int64_t nonzero_milli, nonzero_bytes; /* NonZeroRequested */
	int64_t limit_milli, limit_bytes;     /* at least the requests */
	int64_t overhead_milli;
	struct asks_container *containers; /* owned; of spec.containers */
	size_t container_count;
};

/* spec was understood by resources_read_requests(), which gave requests. */
void asks_read(struct asks *out, const struct value *spec,
	const struct resources *requests);
void asks_fini(struct asks *asks);
