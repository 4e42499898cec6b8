#include "aggregator/store/commit_interval.h"

/* A slow commit loses half of its weight after 44 quick ones: 4 s. */
enum { MEMORY = 64 };

void commit_interval_note(struct commit_interval *interval, uint64_t commit_us)
{
	interval->slow_us -= interval->slow_us / MEMORY;
	if (commit_us > interval->slow_us) {
		interval->slow_us = commit_us;
	}
}

void commit_interval_note_step(struct commit_interval *interval,
	uint64_t step_us)
{
	if (step_us > COMMIT_INTERVAL_MOST_US) {
		step_us = COMMIT_INTERVAL_MOST_US;
	}
	if (step_us > interval->slow_us) {
		interval->slow_us = step_us;
	}
}

uint64_t commit_interval_us(const struct commit_interval *interval)
{
	return interval->slow_us >
			COMMIT_INTERVAL_MOST_US - COMMIT_INTERVAL_LEAST_US
		? COMMIT_INTERVAL_LEAST_US
		: COMMIT_INTERVAL_MOST_US - interval->slow_us;
}
