/* The pods of VMs in labelled namespaces that have the default scheduler's
 * name: evidence that nothing sets schedulerName, or did not for a while. Or
 * plimsoll cannot place the pod, and leaves it to that scheduler.
 *
 * A pod that names default-scheduler by choice looks the same. A pod that was
 * there before this process may also be older than its namespace's label. A pod
 * that was created with a node needs no scheduler and does not count, unless
 * its kubelet has accepted it before this process sees it. */
#pragma once

#include "kube/reflector.h"
#include "lib/map.h"
#include "scheduler/admission/labelled.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_value;

/* Zeroed: empty. */
struct missed_pods {
	struct map by_uid; /* of all namespaces: labels may come later */
	uint64_t total;	   /* created before the eyes of this process */
	char *newest;	   /* of these, "namespace/pod"; owned; NULL: none */
	uint64_t seen;	   /* pods that plimsoll cannot place */
};

struct missed_counts {
	size_t missed;	/* exist; created before the eyes of this process */
	size_t earlier; /* exist; older than this process, or than the label */
	size_t unsupported; /* exist; plimsoll cannot place them */
	/* The unsupported pod that was seen last, "namespace/pod", and
	 * unplaceable_why(). Borrowed until a pod comes or goes; NULL: none. */
	const char *example, *why;
};

/* The answer about a pod. */
enum missed_kind {
	MISSED_NOT,	    /* nothing to tell, or seen before */
	MISSED_NAME,	    /* new, and nothing has set the name */
	MISSED_UNSUPPORTED, /* new, and plimsoll cannot place it */
};

void missed_pods_fini(struct missed_pods *pods);

/* The pod exists. is_new: pods that were not seen before were created while
 * this process watched. */
enum missed_kind missed_pods_see(struct missed_pods *pods,
	const struct labelled *labelled, const struct reflector_id *id,
	const struct json_value *pod, bool is_new);

/* Why plimsoll cannot place a pod that was seen; NULL: it can. Borrowed until
 * the pod is gone. */
const char *missed_pods_unsupported(const struct missed_pods *pods,
	const char *uid);

/* The pod is deleted, or has ended. */
void missed_pods_gone(struct missed_pods *pods, const char *uid);

/* Walks over all pods of VMs with the default scheduler's name. */
struct missed_counts missed_pods_count(const struct missed_pods *pods,
	const struct labelled *labelled);
