/* How much a sender may report per time. Pure: time is an argument.
 *
 * Each sender has a bucket of reports and one of bytes that refill steadily. An
 * honest agent makes ten reports a second at most, and sends a spool of four
 * days at an interval of 2 s from a full bucket; then the refill still is ten
 * times what it makes. The table has a fixed size: senders with the same place
 * share its buckets, and lib/hash.h keeps others from choosing a place. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RATE_LIMIT_SENDERS = 32768, /* places; a power of two */
	RATE_LIMIT_REPORTS = 200000,
	RATE_LIMIT_REPORTS_PER_S = 100,
	RATE_LIMIT_BYTES = 512 << 20,
	RATE_LIMIT_BYTES_PER_S = 4 << 20,
};

struct rate_limit;

struct rate_limit *rate_limit_new(void);	/* never NULL */
void rate_limit_free(struct rate_limit *limit); /* NULL is fine */

/* False: that is too much now, and nothing was taken. sender is a hash. */
bool rate_limit_take(struct rate_limit *limit, uint64_t sender, size_t reports,
	size_t bytes, uint64_t now_us);
