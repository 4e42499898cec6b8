#include "aggregator/remote_write/retry_rules.h"

#include "kube/backoff.h"

/* A longer Retry-After is cut to this. */
static const uint64_t asked_max_ms = 300000;

enum retry_verdict retry_judge(int status)
{
	switch (status) {
	case 401:
	case 403:
	case 404:
	case 408:
	case 429:
		return RETRY_AGAIN;
	default:
		return status / 100 == 2    ? RETRY_SENT
			: status / 100 == 4 ? RETRY_REFUSED
					    : RETRY_AGAIN;
	}
}

uint64_t retry_wait_ms(unsigned failures, uint64_t asked_ms, double random)
{
	uint64_t ms = backoff_ms(failures, random);

	if (asked_ms > asked_max_ms) {
		asked_ms = asked_max_ms;
	}
	return ms > asked_ms ? ms : asked_ms;
}

uint64_t retry_shrink(uint64_t count)
{
	return count > 1 ? count / 2 : 1;
}

uint64_t retry_grow(uint64_t limit, uint64_t most)
{
	return limit > most / 2 ? most : limit * 2;
}
