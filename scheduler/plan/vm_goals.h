/* The goals about VMs: a VM runs elsewhere, a node is empty, nodes are gone.
 * The steps stay made in the state. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/plan/search.h"

#include <stdbool.h>

/* Each returns whether the goal is reached, and appends the sentence. */
bool vm_goals_elsewhere(struct search *s, const struct plan_goal *goal,
	struct buffer *words);
bool vm_goals_empty(struct search *s, const struct plan_goal *goal,
	struct buffer *words);
/* VMs that cannot leave are in the state's list `left`, as are those that
 * vm_goals_gone() finds no place for. */
bool vm_goals_drained(struct search *s, const struct plan_goal *goal,
	struct buffer *words);
bool vm_goals_gone(struct search *s, const struct plan_goal *goal,
	struct buffer *words);
