/* The unfinished migrations out of and into each node. */
#pragma once

#include "lib/map.h"

#include <stdbool.h>

/* The migrations and evacuations on a node. */
struct kubevirt_node {
	unsigned out, in;		  /* unfinished migrations */
	unsigned foreign_out, foreign_in; /* of these, not ours */
	bool is_evicting;		  /* a VMI on it is being evacuated */
};

/* More migrations and evacuations are not counted: that would hold the event
 * loop for long, and no move is ordered beside so many. Every node then counts
 * as being evacuated. */
enum { NODE_COUNTERS_MAX = 1000 };

/* Zeroed: none. */
struct node_counters {
	struct map nodes; /* name -> struct kubevirt_node, owned */
	size_t counted;	  /* migrations and evacuations */
	size_t migrations;
};

void node_counters_fini(struct node_counters *counters); /* empties it, too */

/* A migration. source and target: "" if not known yet. */
void node_counters_add(struct node_counters *counters, const char *source,
	const char *target, bool is_ours);
void node_counters_evict(struct node_counters *counters, const char *node);

bool node_counters_are_full(const struct node_counters *counters);

struct kubevirt_node node_counters_get(const struct node_counters *counters,
	const char *node);
