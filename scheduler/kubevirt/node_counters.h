/* The unfinished migrations out of and into each node. */
#pragma once

#include "lib/map.h"

#include <stdbool.h>

/* Somebody else's work on a node; the texts are borrowed until the next change
 * of a VMI or a migration. */
struct others_work {
	const char *namespace; /* NULL: none */
	const char *vm;
	const char *migration; /* its name; "": not known, or not made yet */
};

/* The migrations and evacuations on a node. */
struct kubevirt_node {
	/* Migrations that KubeVirt counts against its limits, and all of
	 * ours. */
	unsigned out, in;
	/* Somebody else's for which moves leave the node alone. */
	unsigned foreign_out, foreign_in;
	bool is_evicting;	 /* and so is a VMI that is being evacuated */
	struct others_work work; /* one of these */
	/* Evacuations from it that wait for a slot of KubeVirt. */
	unsigned drains;
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
	size_t foreign; /* for which moves leave nodes alone */
};

void node_counters_fini(struct node_counters *counters); /* empties it, too */

/* A migration that takes a slot. source and target: "" if not known yet. */
void node_counters_add(struct node_counters *counters, const char *source,
	const char *target);
/* Somebody else's migration for which moves leave both nodes alone. */
void node_counters_hold(struct node_counters *counters, const char *source,
	const char *target, const struct others_work *work);
/* A VM is being evacuated from the node. */
void node_counters_evict(struct node_counters *counters, const char *node,
	const struct others_work *work);
/* An evacuation from the node waits. */
void node_counters_drain(struct node_counters *counters, const char *node);

bool node_counters_are_full(const struct node_counters *counters);

struct kubevirt_node node_counters_get(const struct node_counters *counters,
	const char *node);
