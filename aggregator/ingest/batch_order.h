/* What the times and the order in a batch of reports mean, whenever it came.
 *
 * Pure. An agent sends its newest report first and says what its own clock
 * showed when it sent, so ages need no clocks to agree. */
#pragma once

#include "lib/error.h"
#include "proto/wire.h"

#include <stddef.h>
#include <stdint.h>

/* A process cannot send what it measures later; taken, it would be the newest
 * until the node's clock gets there. -EBADMSG: there is such a report. */
must_check int arrival_check(const struct batch *batch, struct error *err);

/* How old a report was when its batch was sent, by the agent's own clock. One
 * that an earlier process left may be from its future: as good as new. */
uint64_t arrival_age_us(const struct batch *batch, const struct report *report);

struct arrival_place {
	uint64_t seq;
	size_t index; /* in the batch */
};

/* The batch's reports by rising seq, batch->count of them; the caller frees
 * them. */
struct arrival_place *arrival_order(const struct batch *batch);
