/* The delay before a retry: doubles with each failure, from 1 to 30 s. The
 * upper half of the delay is random, so that clients that lost the same server
 * do not return at the same time. */
#pragma once

#include <stdint.h>

/* Returns the milliseconds to wait after this many consecutive failures (from
 * 1). random is in [0, 1). 1-2 s, 2-4 s, 4-8 s, 8-16 s, 15-30 s, 15-30 s ... */
uint64_t backoff_ms(unsigned failures, double random);
