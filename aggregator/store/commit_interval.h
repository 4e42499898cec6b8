/* How long the writer gathers reports before it commits them. Pure.
 *
 * About half of the cost of a commit of three reports does not depend on their
 * number, so a longer wait is cheaper: 300 nodes that report every 10 s send
 * three in 100 ms. But an Ack is due INGEST_ACK_US after its batch arrived. An
 * Ack waits for the commit, and for a step of maintenance before it, at most
 * 50 ms longer than recent ones took. The writer gathers for a short time while
 * commits are slow. */
#pragma once

#include <stdint.h>

enum { COMMIT_INTERVAL_LEAST_US = 50000, COMMIT_INTERVAL_MOST_US = 180000 };

struct commit_interval {  /* zeroed: no commit was noted */
	uint64_t slow_us; /* the slowest recent commit or step */
};

void commit_interval_note(struct commit_interval *interval, uint64_t commit_us);
/* A step of maintenance has ended. */
void commit_interval_note_step(struct commit_interval *interval,
	uint64_t step_us);

uint64_t commit_interval_us(const struct commit_interval *interval);
