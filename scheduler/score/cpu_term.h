/* The term for CPU: the shortage that the pod adds, and the room. Pure. */
#pragma once

#include "scheduler/score/score.h"

/* The points of the term. Sets the inputs by load if there is trust, and by
 * requests if it is not full. */
double cpu_term_points(struct score *s, const struct node *node,
	const struct score_context *context);

/* Sets the members of the score that explain the term, after its points. */
void cpu_term_explain(struct score *s, const struct node *node,
	const struct score_context *context);
