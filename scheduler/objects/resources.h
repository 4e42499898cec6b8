/* Amounts of resources: what a pod requests, what a node can give.
 *
 * Counted as NodeResourcesFit counts: cpu in thousandths, everything else in
 * base units, each rounded up once per pod; of the other names only extended
 * ones, hugepages-*, attachable-volumes-* and anything with kubernetes.io/. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/objects/interner.h"

#include <stddef.h>
#include <stdint.h>

/* Different resources of one pod: each has a bit in filter.h's reasons. */
enum { RESOURCES_POD_MAX = 32, RESOURCES_NODE_MAX = 256 };

struct amount {
	uint32_t resource; /* held */
	int64_t value;
};

/* A zeroed one is nothing at all. */
struct resources {
	int64_t cpu_milli, memory_bytes, ephemeral_bytes;
	int64_t pods;	       /* of a node; 0 in requests */
	struct amount *others; /* owned; sorted by text, no zeros */
	size_t other_count;
};

/* A node's status.allocatable; NULL is nothing.
 * -EBADMSG: not quantities; -E2BIG: over RESOURCES_NODE_MAX names. */
must_check int resources_read(struct resources *out, struct names *names,
	const struct value *list, struct error *err);

/* What the scheduler must find room for, from a pod's spec:
 *   max(containers + sidecars,
 *       each init container + the sidecars started before it),
 * cpu, memory and hugepages replaced by pod-level requests where set, plus
 * overhead. A sidecar is an init container with restartPolicy Always.
 *
 * Of a pod that runs, with its status: where that says what a container or the
 * pod was given (resources), the largest of spec, resources and
 * allocatedResources counts; while a resize is pending that the node can never
 * grant (Infeasible), the spec does not. status NULL: a pod to place.
 * Same errors, -E2BIG over RESOURCES_POD_MAX names. */
must_check int resources_read_requests(struct resources *out,
	struct names *names, const struct value *spec,
	const struct value *status, struct error *err);

void resources_fini(struct resources *resources, struct names *names);
