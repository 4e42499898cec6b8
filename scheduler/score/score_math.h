/* The arithmetic of the terms. Functions that a decision calls for thousands of
 * nodes are inline. Pure. */
#pragma once

/* The share of a resource that the node does not have, if any is used. */
#define SCORE_OVERFULL 1000.0

static inline double score_share(double used, double of)
{
	if (of > 0) {
		return used / of;
	}
	return used > 0 ? SCORE_OVERFULL : 0;
}

/* 1 at 0, a half at `half`, never 0. Unknown (NAN) values give 1: the data term
 * accounts for them. */
static inline double score_falling(double value, double half)
{
	return value > 0 ? half / (half + value) : 1;
}

/* Ignores `measured` without trust, because it may be NAN. The first case only
 * saves time: the result is the same to the last bit. */
static inline double score_blend(double trust, double measured,
	double otherwise)
{
	if (trust >= 1) {
		return measured;
	}
	return trust > 0 ? trust * measured + (1 - trust) * otherwise
			 : otherwise;
}

/* fmax() would be a call. b if a is NAN. */
static inline double score_larger(double a, double b)
{
	return a > b ? a : b;
}
