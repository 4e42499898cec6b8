/* The search for the plan of one attempt, in the planner's thread. */
#pragma once

#include "scheduler/mover/proposals.h"
#include "scheduler/objects/pod.h"
#include "scheduler/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

struct cache;
struct attempt_search;
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

struct attempt_search_options {
	struct planner *planner;
	struct pod *pod; /* of the queue; a copy of it is searched for */
	/* Called once unless the search was forgotten. found NULL: the search
	 * did not run. */
	void (*done)(void *owner, const struct found_plan *found);
	void *owner;
};

/* NULL: too many searches wait. */
struct attempt_search *attempt_search_start(
	const struct attempt_search_options *options);

/* done() is not called any more. NULL is fine. */
void attempt_search_forget(struct attempt_search *search);
