/* `plimsoll-scheduler plan --goal GOAL --in FILE`: the fewest moves of running
 * VMs after which a goal holds, over recorded state.
 *
 * Runs the search of the live scheduler (plan/plan.h). docs/plan.md describes
 * the goals, the file and the answer. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "lib/program.h"
#include "scheduler/offline/goal_words.h"

#include <stddef.h>
#include <stdint.h>

extern const struct program plan_program;

struct plan_question {
	const char *goal_text; /* as typed */
	struct goal_words goal;
	int64_t max_moves; /* 1 to PLAN_MOVES_MAX */
	double max_load;   /* see struct plan_input */
	uint64_t max_work; /* likewise; 0: PLAN_WORK */
	const char *scheduler_name;
};

/* Answers by the input, a JSON text, and appends the answer as one line of JSON
 * to out. -EBADMSG, -EINVAL, -ERANGE, -E2BIG, -ENOENT: the input is invalid, or
 * it does not hold what the goal names. */
must_check int plan_text(struct buffer *out,
	const struct plan_question *question, const char *text, size_t len,
	struct error *err);
