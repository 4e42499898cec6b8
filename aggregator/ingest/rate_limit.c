#include "aggregator/ingest/rate_limit.h"

#include "lib/memory.h"

#include <math.h>
#include <stdlib.h>

/* The part that was taken and has not refilled yet. */
struct bucket {
	double reports, bytes;
	uint64_t at_us;
};

struct rate_limit {
	struct bucket buckets[RATE_LIMIT_SENDERS];
};

struct rate_limit *rate_limit_new(void)
{
	return xcalloc(1, sizeof(struct rate_limit));
}

void rate_limit_free(struct rate_limit *limit)
{
	free(limit);
}

static void refill(struct bucket *bucket, uint64_t now_us)
{
	double passed_s = now_us > bucket->at_us
		? (double)(now_us - bucket->at_us) / 1e6
		: 0;

	bucket->reports =
		fmax(0, bucket->reports - passed_s * RATE_LIMIT_REPORTS_PER_S);
	bucket->bytes =
		fmax(0, bucket->bytes - passed_s * RATE_LIMIT_BYTES_PER_S);
	bucket->at_us = now_us;
}

bool rate_limit_take(struct rate_limit *limit, uint64_t sender, size_t reports,
	size_t bytes, uint64_t now_us)
{
	struct bucket *bucket = &limit->buckets[sender % RATE_LIMIT_SENDERS];

	refill(bucket, now_us);
	if (bucket->reports + (double)reports > RATE_LIMIT_REPORTS ||
		bucket->bytes + (double)bytes > RATE_LIMIT_BYTES) {
		return false;
	}
	bucket->reports += (double)reports;
	bucket->bytes += (double)bytes;
	return true;
}
