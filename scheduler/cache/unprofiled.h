/* Pods of running VMs whose profile no aggregator was asked for. Those of a
 * node follow one another: see aggregator/store/computed_hours.h. */
#pragma once

#include "lib/map.h"

#include <sys/queue.h>

/* A part of the owner's pod, which must not move while it is in the list. */
struct unprofiled_pod {
	TAILQ_ENTRY(unprofiled_pod) link;
	const char *node; /* borrowed */
	void *pod;	  /* the owner's */
};

TAILQ_HEAD(unprofiled_list, unprofiled_pod);

struct unprofiled {
	struct unprofiled_list list;
	struct map last; /* node -> its last pod in the list */
};

void unprofiled_init(struct unprofiled *unprofiled);
/* The pods stay. */
void unprofiled_fini(struct unprofiled *unprofiled);

/* Adds a pod behind those of its node, or at the end. */
void unprofiled_add(struct unprofiled *unprofiled, struct unprofiled_pod *pod);
void unprofiled_remove(struct unprofiled *unprofiled,
	struct unprofiled_pod *pod);

/* Removes the first pod and returns pod->pod; NULL: there is none. */
void *unprofiled_take(struct unprofiled *unprofiled);
