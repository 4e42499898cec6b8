#include "kube/backoff.h"

/* 2 s doubled four times exceeds 30 s; more doublings could overflow. */
enum { FIRST_MS = 2000, LONGEST_MS = 30000, DOUBLINGS_MAX = 4 };

uint64_t backoff_ms(unsigned failures, double random)
{
	unsigned doublings = failures > 0 ? failures - 1 : 0;
	uint64_t half;

	if (doublings > DOUBLINGS_MAX) {
		doublings = DOUBLINGS_MAX;
	}
	half = ((uint64_t)FIRST_MS / 2) << doublings;
	if (half > LONGEST_MS / 2) {
		half = LONGEST_MS / 2;
	}
	return half + (uint64_t)((double)half * random);
}
