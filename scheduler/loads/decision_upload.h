/* Sends the records of decisions to every aggregator, which keeps them.
 *
 * Best effort and bounded: records wait here until they are stored, the oldest
 * go when there are too many, and none of this holds up a decision. */
#pragma once

#include "lib/credentials.h"
#include "lib/error.h"
#include "lib/options.h"
#include "proto/decision.h"

#include <stddef.h>
#include <uv.h>

enum {
	RECORDS_MAX = 4096, /* waiting */
	RECORDS_BYTES_MAX = 8 << 20,
};

struct records;

/* aggregators and dial outlive the records. Errors as speaker_new(). */
must_check int records_new(struct records **out, uv_loop_t *loop,
	const struct option_list *aggregators, const struct dial_config *dial,
	struct error *err);

/* Queues a copy for all of them. */
void records_add(struct records *records, const struct decision_record *record);

/* How many wait until every aggregator has stored them. */
size_t records_waiting(const struct records *records);

void records_close(struct records *records); /* NULL is fine */
