/* Where would it go? Finds or derives the pod of a placement's spec, and judges
 * all nodes for it. On the event loop; nothing changes. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "scheduler/answers/spec.h"

#include <stdbool.h>
#include <stdint.h>

struct cache;
struct kubevirt;
struct policy;
struct queue;
struct reservations;
struct usage;

/* All borrowed. */
struct placement_answer {
	struct cache *cache;
	struct reservations *reservations;
	const struct queue *queue;
	const struct policy *policy;
	const struct kubevirt *kubevirt; /* NULL: KubeVirt's defaults */
	bool keeps_constraints; /* of the pods of running VMs, in the cache */
	/* The use of a manifest's VM that does not run; NULL: not known. */
	const struct usage *profile;
	const char *scheduler, *namespace;
	int64_t now_us;
	uint64_t wall_us;
};

/* A VM of this name runs or starts: its own use is known. */
bool placement_answer_runs(const struct placement_answer *where,
	const char *vm);

/* Appends the JSON of a Placement's status. -ENOENT: there is no such VM or
 * pod; -EINVAL: the manifest cannot be used, or the pod's constraints are not
 * known; -EFBIG: the answer is too long. */
must_check int placement_answer_write(struct buffer *out,
	const struct placement_answer *where, const struct placement_spec *spec,
	struct error *err);
