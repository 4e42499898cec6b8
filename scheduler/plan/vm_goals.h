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
bool vm_goals_gone(struct search *s, const struct plan_goal *goal,
	struct buffer *words);
