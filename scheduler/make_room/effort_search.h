/* The search for the plan of one effort, in the planner's thread. */
#pragma once

#include "scheduler/mover/proposals.h"
#include "scheduler/objects/pod.h"
#include "scheduler/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

struct cache;
struct effort_search;
struct planner;

/* The result of a search, as names: the cluster that it read is gone. */
struct found_plan {
	bool is_found;
	char node[REPORT_NODE_MAX]; /* for the pod; "" unless is_found */
	char sentence[PLAN_SENTENCE_MAX];
	/* The steps; the records' ids are "". */
	struct proposal moves[PLAN_MOVES];
	size_t move_count;
};

struct effort_search_options {
	struct planner *planner;
	struct pod *pod; /* of the queue; a copy of it is searched for */
	/* Called once unless the search was forgotten. found NULL: the search
	 * did not run. */
	void (*done)(void *owner, const struct found_plan *found);
	void *owner;
};

/* NULL: too many searches wait. */
struct effort_search *effort_search_start(
	const struct effort_search_options *options);

/* done() is not called any more. NULL is fine. */
void effort_search_forget(struct effort_search *search);
