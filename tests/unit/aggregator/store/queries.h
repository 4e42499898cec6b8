/* Queries for the reports of node n1, for tests. */
#pragma once

#include "lib/clock.h"
#include "tests/unit/aggregator/scratch.h"

#include <errno.h>

static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 'a' };
static const uint8_t run_b[REPORT_RUN_ID_BYTES] = { 'b' };
static const uint64_t day_us = UINT64_C(86400000000);

static inline struct store_batch *batch_of(const char *node,
	const uint8_t *run_id, uint64_t first_seq, size_t count,
	uint64_t first_ms)
{
	struct store_batch *batch = store_batch_new(node, run_id);

	for (size_t i = 0; i < count; i++) {
		struct report r =
			steady_report(first_seq + i, 100 + (double)i, 1);

		scratch_add(batch, &r, first_ms + i);
	}
	return batch;
}

/* The result of a query. */
struct rows {
	size_t count, stop_after;
	uint64_t seqs[4000];
	uint64_t last_ms;
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	bool is_done;
	int code;
	char text[64]; /* why there are none */
};

static inline bool on_row(void *owner, const struct store_row *row)
{
	struct rows *rows = owner;

	if (strcmp(row->node, "n1") != 0 || row->sample_ms < rows->last_ms) {
		rows->code = -EBADMSG;
		return false;
	}
	rows->seqs[rows->count] = row->report->seq;
	rows->count++;
	rows->last_ms = row->sample_ms;
	memcpy(rows->run_id, row->run_id, REPORT_RUN_ID_BYTES);
	return rows->count != rows->stop_after;
}

static inline void on_done(void *owner, const struct error *err)
{
	struct rows *rows = owner;

	rows->is_done = true;
	rows->code = err == NULL ? rows->code : err->code;
	(void)snprintf(rows->text, sizeof(rows->text), "%.63s",
		err == NULL ? "" : err->text);
}

static inline struct rows query_up_to(struct scratch *s, uint64_t from_ms,
	uint64_t to_ms, size_t stop_after)
{
	struct rows rows = { .stop_after = stop_after };
	struct store_read read = { .node = "n1",
		.parts = SCHEMA_ALL,
		.from_ms = from_ms,
		.to_ms = to_ms,
		.row = on_row,
		.done = on_done,
		.owner = &rows };

	assert_int_equal(store_query(s->store, &read, NULL), 0);
	run_until(&s->loop, &rows.is_done);
	assert_int_equal(rows.code, 0);
	return rows;
}

static inline struct rows query(struct scratch *s, uint64_t from_ms,
	uint64_t to_ms)
{
	return query_up_to(s, from_ms, to_ms, SIZE_MAX);
}

static inline uint64_t now_ms(void)
{
	return clock_wall_us() / 1000;
}
