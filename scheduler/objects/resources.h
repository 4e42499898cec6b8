/* Amounts of resources: a pod's requests, a node's allocatable.
 *
 * The units are those of NodeResourcesFit: cpu in thousandths, everything else
 * in base units, each rounded up once per pod. Scalar resources are extended
 * resources, hugepages-*, attachable-volumes-* and names with kubernetes.io/;
 * other names do not count. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/objects/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The scalar resources of a pod: each has a bit in the reasons of
 * filter/filter.h. */
enum { RESOURCES_POD_MAX = 32, RESOURCES_NODE_MAX = 256 };

struct amount {
	uint32_t resource; /* held */
	int64_t value;
};

/* Zeroed: no resources. */
struct resources {
	int64_t cpu_milli, memory_bytes, ephemeral_bytes;
	int64_t pods;		/* of a node; 0 in requests */
	struct amount *scalars; /* owned; sorted by name, no zeros */
	size_t scalar_count;
};

/* Reads a node's status.allocatable; NULL is the empty list.
 * -EBADMSG: not quantities; -E2BIG: over RESOURCES_NODE_MAX names. */
must_check int resources_read(struct resources *out, struct interner *interner,
	const struct json_value *list, struct error *err);

/* Reads the requests of a pod, which is
 *   max(containers + sidecars,
 *       each init container + the sidecars started before it),
 * with cpu, memory and hugepages replaced by pod-level requests where set, plus
 * overhead.
 *
 * status: of a bound pod; NULL for an incoming pod. If the status of the pod or
 * of a container has `resources`, the largest of spec, resources and
 * allocatedResources counts. While a resize is Infeasible, the spec does not
 * count. Same errors; -E2BIG: over RESOURCES_POD_MAX names. */
must_check int resources_read_requests(struct resources *out,
	struct interner *interner, const struct json_value *spec,
	const struct json_value *status, struct error *err);

/* An init container with restartPolicy Always. */
bool resources_is_sidecar(const struct json_value *container);

void resources_fini(struct resources *resources, struct interner *interner);
