/* The share of each namespace in the time of the scheduling loop.
 *
 * A bucket for each namespace is filled by the time of the decisions about its
 * pods, and drains with a quarter of the time that passes. A namespace whose
 * bucket holds more than TIME_SHARES_BURST_US is over its share: its pods go
 * after those of other namespaces. Pure; times are in microseconds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIME_SHARES_BURST_US INT64_C(1000000)
/* A bucket holds no more, so a namespace is over its share for 12 s at most
 * after its last decision. */
#define TIME_SHARES_DEBT_US INT64_C(4000000)

enum {
	TIME_SHARES_PART = 4, /* one in so many */
	/* The fullest buckets; with more, some namespaces are charged less. */
	TIME_SHARES_MAX = 32,
};

struct time_share {
	uint32_t namespace; /* an id of the interner, borrowed; 0: unused */
	int64_t level_us;   /* at at_us */
	int64_t at_us;
};

/* Zeroed: nobody has used any time. */
struct time_shares {
	struct time_share list[TIME_SHARES_MAX];
};

/* A decision about a pod of the namespace took so long. An id that was given to
 * another namespace meanwhile keeps the bucket. */
void time_shares_add(struct time_shares *shares, uint32_t namespace,
	int64_t spent_us, int64_t now_us);

bool time_shares_is_over(const struct time_shares *shares, uint32_t namespace,
	int64_t now_us);

bool time_shares_any_is_over(const struct time_shares *shares, int64_t now_us);
