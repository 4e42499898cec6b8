#include "aggregator/remote_write/retry_rules.h"

#include "kube/backoff.h"

/* An engine that asks for more is asked earlier all the same. */
static const uint64_t asked_max_ms = 300000;

enum remote_verdict remote_judge(int status)
{
	switch (status) {
	case 401:
	case 403:
	case 404:
	case 408:
	case 429:
		return REMOTE_AGAIN;
	default:
		return status / 100 == 2    ? REMOTE_SENT
			: status / 100 == 4 ? REMOTE_REFUSED
					    : REMOTE_AGAIN;
	}
}

uint64_t remote_wait_ms(unsigned failures, uint64_t asked_ms, double random)
{
	uint64_t ms = backoff_ms(failures, random);

	if (asked_ms > asked_max_ms) {
		asked_ms = asked_max_ms;
	}
	return ms > asked_ms ? ms : asked_ms;
}

uint64_t remote_less(uint64_t count)
{
	return count > 1 ? count / 2 : 1;
}

uint64_t remote_more(uint64_t limit, uint64_t most)
{
	return limit > most / 2 ? most : limit * 2;
}
