/* Pseudo-random numbers, the same in every run: xorshift64 (Marsaglia, 2003).
 * *seed is never 0. */
#pragma once

#include <stdint.h>

static inline uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Returns a number below choices. */
static inline uint32_t random_pick(uint64_t *seed, uint32_t choices)
{
	return (uint32_t)(random_next(seed) >> 32) % choices;
}
