/* The reason why a node is better than another one, in words. For the sentences
 * of decisions and of moves. Pure. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/score/score.h"

/* Appends the load of a node with policy real-load and the context's pod, and
 * the inputs of the term that decides against `other`: "35 % CPU used + 6 % by
 * this VM; CPU free for 4.1 times its usual swing (14 %) against 2.3 times (24
 * %) on node-3; contention 2 %". other NULL: without comparison. Contention is
 * left out where it is unknown. */
void sentence_load(struct buffer *out, const struct candidate *one,
	const struct candidate *other, const struct score_context *context);

/* Appends "; 9 points ahead of node-3, mostly CPU (12), despite memory (-3)".
 * one has at least the points of other. */
void sentence_margin(struct buffer *out, const struct score *one,
	const struct candidate *other);

/* The term with the largest difference in favour of `one`; SCORE_TERMS: none
 * has more. points: the difference; NULL is fine. */
enum score_term sentence_decisive_term(const struct score *one,
	const struct score *other, double *points);
