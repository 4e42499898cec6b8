/* Amounts of resources: a pod's requests, a node's allocatable.
 *
 * The units are those of NodeResourcesFit: cpu in thousandths, everything else
 * in base units, each rounded up once per pod. Scalar resources are extended
 * resources, hugepages-*, attachable-volumes-* and names with kubernetes.io/;
 * other names do not count. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "lib/interner.h"
#include "scheduler/objects/behaviours.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The scalar resources of a pod to schedule: each has a bit in the reasons of
 * filter/filter.h. A pod that has a node may request more. */
enum { RESOURCES_POD_MAX = 28 };

/* kube-scheduler's GetNonzeroRequests: a container without a cpu or memory
 * request is scored as if it requested these. An explicit 0 stays 0. */
#define RESOURCES_DEFAULT_CPU_MILLI INT64_C(100)
#define RESOURCES_DEFAULT_MEMORY_BYTES (INT64_C(200) << 20)

struct amount {
	uint32_t resource; /* held */
	int64_t value;
};

/* Zeroed: no resources. */
struct resources {
	int64_t cpu_milli, memory_bytes, ephemeral_bytes;
	int64_t pods; /* of a node; 0 in requests */
	/* NonZeroRequested: the requests with the defaults above; 0 for a
	 * node. */
	int64_t nonzero_milli, nonzero_bytes;
	struct amount *scalars; /* owned; sorted by name, no zeros */
	size_t scalar_count;
};

/* Reads a node's status.allocatable; NULL is the empty list. -EBADMSG: not
 * quantities. */
must_check int resources_read(struct resources *out, struct interner *interner,
	const struct json_value *list, struct error *err);

/* Reads the requests of a pod, which is
 *   max(containers + sidecars,
 *       each init container + the sidecars started before it),
 * with cpu, memory and hugepages replaced by pod-level requests where set, plus
 * overhead.
 *
 * status: of a bound pod; NULL for an incoming pod. It says what a resize in
 * place has done so far: see objects/resource_entries.h. Before 1.37, the
 * largest of spec, resources and allocatedResources of each container counts if
 * its status has `resources`. While a resize is Infeasible, the spec does not
 * count.
 *
 * -EBADMSG: not quantities. Fills out even then, with the amounts that can be
 * read, because the pod has them on its node. */
must_check int resources_read_requests(struct resources *out,
	struct interner *interner, const struct json_value *spec,
	const struct json_value *status, struct behaviours behaviours,
	struct error *err);

/* The size of the pages of "hugepages-2Mi"; 0: not the name of huge pages. */
uint64_t resources_page_bytes(const char *name);

void resources_fini(struct resources *resources, struct interner *interner);
