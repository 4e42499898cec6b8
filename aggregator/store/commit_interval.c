#include "aggregator/store/commit_interval.h"

/* A slow commit is half forgotten after 44 quick ones: 4 s. */
enum { MEMORY = 64 };

void pace_note(struct pace *pace, uint64_t commit_us)
{
	pace->slow_us -= pace->slow_us / MEMORY;
	if (commit_us > pace->slow_us) {
		pace->slow_us = commit_us;
	}
}

uint64_t pace_gather_us(const struct pace *pace)
{
	return pace->slow_us > PACE_MOST_US - PACE_LEAST_US
		? PACE_LEAST_US
		: PACE_MOST_US - pace->slow_us;
}
