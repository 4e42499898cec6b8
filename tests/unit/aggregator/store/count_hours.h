/* Reads hours of reports back and compares each report, for tests. */
#pragma once

#include "tests/unit/aggregator/store/fixture.h"

struct seen {
	uint64_t count, last_ms;
};

/* Checks that the report is exactly the one that was written, and in order. */
static inline bool on_row(void *owner, const struct store_row *row)
{
	struct seen *seen = owner;
	scoped_buffer struct buffer is = BUFFER_MAX(1 << 16);
	scoped_buffer struct buffer was = BUFFER_MAX(1 << 16);
	struct report r = fixture_report(row->report->seq);

	wire_pack_report(&is, row->report);
	wire_pack_report(&was, &r);
	report_fini(&r);
	assert_int_equal(is.len, was.len);
	assert_memory_equal(is.data, was.data, was.len);
	assert_memory_equal(row->run_id, run_a, REPORT_RUN_ID_BYTES);
	assert_true(row->sample_ms >= seen->last_ms);
	seen->last_ms = row->sample_ms;
	seen->count++;
	return true;
}

static inline uint64_t count_hours(struct fixture *f, uint64_t from_ms,
	size_t hours)
{
	struct seen seen = { 0 };

	for (size_t h = 0; h < hours; h++) {
		struct hour_scan_range range = { f->node, "n1", NULL,
			from_ms + h * hour_ms, from_ms + (h + 1) * hour_ms,
			SCHEMA_ALL };
		bool is_done;

		assert_int_equal(hour_scan_read(f->scan, &is_done, &range,
					 on_row, &seen, NULL),
			0);
	}
	return seen.count;
}
