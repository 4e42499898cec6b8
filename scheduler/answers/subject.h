/* The pod that a question names. */
#pragma once

#include "lib/error.h"
#include "scheduler/cache/cache.h"
#include "scheduler/cache/queue.h"
#include "scheduler/objects/pod.h"

struct vmi;

/* All borrowed of the cache or the queue. */
struct subject {
	const struct pod *pod;
	const struct node *node;   /* NULL: the pod is pending */
	struct queued_pod *queued; /* NULL: it is not */
};

/* Both look at all pods. -ENOENT: there is none of this name. */
must_check int subject_find_pod(struct subject *out, const struct cache *cache,
	const struct queue *queue, const char *namespace, const char *name,
	struct error *err);

/* The launcher pod in which the VM runs or starts: of several the one that
 * runs, and not the target of a migration. */
must_check int subject_find_vm(struct subject *out, const struct cache *cache,
	const struct queue *queue, const char *namespace, const char *name,
	struct error *err);

/* The same VM by its VMI, without a look at all pods. *out is zeroed if it has
 * no pod that counts on a node. */
void subject_find_vmi(struct subject *out, const struct cache *cache,
	const struct vmi *vmi);
