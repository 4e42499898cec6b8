/* How long the writer gathers reports before it commits them. Pure.
 *
 * The cost of a commit hardly depends on its size, so a longer wait is cheaper.
 * But an Ack is due INGEST_ACK_US after its batch arrived, so the wait is short
 * while commits are slow. */
#pragma once

#include <stdint.h>

enum { COMMIT_INTERVAL_LEAST_US = 50000, COMMIT_INTERVAL_MOST_US = 100000 };

struct commit_interval {  /* zeroed: no commit was noted */
	uint64_t slow_us; /* the slowest recent commit */
};

void commit_interval_note(struct commit_interval *interval, uint64_t commit_us);

uint64_t commit_interval_us(const struct commit_interval *interval);
