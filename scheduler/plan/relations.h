/* The pods that matter to a pod by affinity or anti-affinity, without a look at
 * all pods: an index by the label that a term requires.
 *
 * The index is made once. It follows the state: a VM counts on the node where
 * it is now. Terms that require no single label are matched against all. */
#pragma once

#include "scheduler/filter/move_filter.h"
#include "scheduler/plan/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pods under a label. */
struct relation_slot {
	uint32_t key, value; /* key 0: a free slot */
	size_t first;	     /* link, from 1; 0: none */
};

struct relation_link {
	size_t pod, next;
};

/* A hash table. */
struct relation_table {
	struct relation_slot *slots; /* owned; a power of two, or none */
	size_t slot_count, used;
	struct relation_link *links; /* owned; the first is not used */
	size_t link_count, link_capacity;
};

struct relation_pod {
	const struct pod *pod;	 /* borrowed */
	const struct node *node; /* of a pod that never moves; NULL: a VM */
	size_t vm;
	uint64_t seen; /* the last question that came to it */
};

struct relations {
	const struct state *state; /* borrowed */
	struct relation_pod *pods; /* owned */
	size_t count, capacity;
	size_t *found; /* owned; answers to the last question */
	size_t found_count;
	/* Pods by a label that their own anti-affinity requires. */
	struct relation_table terms;
	/* Pods by their labels, of those that terms of VMs require. */
	struct relation_table labels;
	size_t *open; /* owned; pods with anti-affinity without such a label */
	size_t open_count, open_capacity;
	uint64_t question;
};

/* goal: a pod beside the VMs; NULL: none. */
void relations_begin(struct relations *r, const struct state *state,
	const struct pod *goal);
void relations_end(struct relations *r); /* zeroed is fine */

/* Counts the pods that may matter to the filter's pod. Returns how many they
 * are. */
size_t relations_count(struct relations *r, struct move_filter *filter);
