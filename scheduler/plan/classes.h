/* VMs that need the same of a node: equal requests, node selectors,
 * tolerations and priority.
 *
 * A class has the nodes that have this room before any move. Relations to other
 * pods, host ports and volumes are left out, so the list may be too long for a
 * VM and never misses a node. */
#pragma once

#include "scheduler/filter/move_filter.h"
#include "scheduler/plan/state.h"

#include <stddef.h>
#include <stdint.h>

enum { CLASSES_PUSHES = 2 };

/* Nodes in the order of their loads. */
struct class_nodes {
	size_t *list; /* owned */
	size_t count;
	uint64_t order; /* as that of struct classes */
	bool is_known;
};

struct class
{
	size_t vm;	/* one of its VMs */
	struct pod pod; /* what the class needs; borrows of the VM's */
	struct class_nodes direct; /* room is there */
	/* [n]: n + 1 moves make room there. */
	struct class_nodes pushed[CLASSES_PUSHES];
};

struct classes {
	struct class *list; /* owned */
	size_t count, capacity;
	size_t *slots; /* owned; a hash table of indices + 1 */
	size_t slot_count;
	uint64_t order; /* the state's version by which nodes are sorted */
	struct cluster plain; /* the cluster without relations of pods */
	bool starts;	      /* the VMs of the goal start; else they migrate */
};

/* Sets the class of each VM. starts: as above. */
void classes_begin(struct classes *classes, struct state *state, bool starts);
void classes_end(struct classes *classes);

/* From now on targets are tried in the order of their loads with the steps so
 * far. Not within a search, whose order stays. */
void classes_order(struct classes *classes, struct state *state);

/* The VM can be told from another one of its class only by its use. */
bool classes_is_plain(const struct state *state, const struct pod *pod);
