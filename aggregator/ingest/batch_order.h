/* The times, the order and the size of the reports in a batch. Pure.
 *
 * An agent sends its newest report first, and the time of its own clock when it
 * sent the batch, so the age of a report needs no synchronized clocks. */
#pragma once

#include "lib/error.h"
#include "proto/wire.h"

/* -EBADMSG: a report is from after the time at which its batch was sent. Such a
 * report would stay the newest until the node's clock reaches its time. */
must_check int batch_order_check(const struct batch *batch, struct error *err);

/* The age of a report when its batch was sent, by the agent's own clock. 0 for
 * a report from the future, which an earlier process may have left. */
uint64_t batch_order_age_us(const struct batch *batch,
	const struct report *report);

/* The sum over its reports, as they came. */
size_t batch_order_packed_bytes(const struct batch *batch);

struct batch_order_entry {
	uint64_t seq;
	size_t index; /* in the batch */
};

/* The batch->count reports by rising seq; the caller frees the list. */
struct batch_order_entry *batch_order_by_seq(const struct batch *batch);
