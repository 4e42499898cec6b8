/* How long to wait before trying again.
 *
 * Twice as long after each failure, from 1 to 30 s, the upper half of it at
 * random: many clients that lost one server do not come back in step. */
#pragma once

#include <stdint.h>

/* Milliseconds after so many failures in a row (from 1), with random in
 * [0, 1): 1-2 s, 2-4 s, 4-8 s, 8-16 s, 15-30 s, 15-30 s ... */
uint64_t backoff_ms(unsigned failures, double random);
