/* A store in a temporary directory with an event loop, for tests. */
#pragma once

#include "aggregator/store/commit_interval.h"
#include "aggregator/store/store.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"
#include "proto/wire.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/aggregator/sample.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCRATCH_DECISIONS_KEPT_US UINT64_C(3600000000)

struct scratch {
	uv_loop_t loop;
	char dir[96], db[128];
	struct store *store;
	bool is_opened, is_closed, is_written, is_stored;
	size_t last_reports;
	uint64_t last_report_ms;
	uint64_t outbox_bytes, max_bytes, compact_us; /* 0: none, none, 1 h */
	char last_report_node[REPORT_NODE_MAX];
	struct error opening; /* code 0: success */
};

static inline void scratch_last_report(void *owner, const struct store_row *row)
{
	struct scratch *s = owner;

	s->last_reports++;
	s->last_report_ms = row->sample_ms;
	(void)snprintf(s->last_report_node, sizeof(s->last_report_node), "%s",
		row->node);
}

static inline void scratch_opened(void *owner, const struct error *err)
{
	struct scratch *s = owner;

	s->is_opened = true;
	s->opening = err == NULL ? (struct error){ 0 } : *err;
}

static inline void scratch_closed(void *owner)
{
	struct scratch *s = owner;

	s->is_closed = true;
	s->store = NULL;
}

static inline void scratch_add(struct store_batch *batch,
	const struct report *report, uint64_t sample_ms)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(MQ_RECV_MAX);

	wire_pack_report(&bytes, report);
	store_batch_add(batch, report->seq, sample_ms,
		&(const struct packed_report){ (const uint8_t *)bytes.data,
			bytes.len });
}

static inline void scratch_written(void *owner, const struct error *err)
{
	struct scratch *s = owner;

	s->is_written = true;
	s->is_stored = err == NULL;
}

/* The next commit is due. */
static inline void scratch_commit(void)
{
	fake_clock_move(COMMIT_INTERVAL_MOST_US);
}

/* Writes a batch and waits; whether it was stored. */
static inline bool scratch_write(struct scratch *s, struct store_batch *batch)
{
	s->is_written = false;
	assert_int_equal(store_write(s->store, batch, scratch_written, s, NULL),
		0);
	scratch_commit();
	run_until(&s->loop, &s->is_written);
	return s->is_stored;
}

/* Opens the store and waits for the result. */
static inline void scratch_open(struct scratch *s, uint64_t retention_us)
{
	struct store_options options = { .path = s->db,
		.retention_us = { retention_us, retention_us, retention_us },
		.max_bytes = s->max_bytes,
		.compact_us = s->compact_us == 0 ? UINT64_C(3600000000)
						 : s->compact_us,
		.last_report = scratch_last_report,
		.opened = scratch_opened,
		.closed = scratch_closed,
		.owner = s,
		.decisions_kept_us = SCRATCH_DECISIONS_KEPT_US,
		.outbox_bytes = s->outbox_bytes };

	s->is_opened = s->is_closed = false;
	s->last_reports = 0;
	s->store = store_new(&s->loop, &options);
	run_until(&s->loop, &s->is_opened);
}

static inline void scratch_close(struct scratch *s)
{
	if (s->store != NULL) {
		store_close(s->store);
		run_until(&s->loop, &s->is_closed);
	}
}

static inline int scratch_setup(void **state)
{
	struct scratch *s = xcalloc(1, sizeof(*s));
	const char *tmpdir = getenv("TMPDIR");

	assert_int_equal(uv_loop_init(&s->loop), 0);
	(void)snprintf(s->dir, sizeof(s->dir), "%s/plimsoll-test-XXXXXX",
		tmpdir != NULL ? tmpdir : "/tmp");
	assert_non_null(mkdtemp(s->dir));
	(void)snprintf(s->db, sizeof(s->db), "%s/t.db", s->dir);
	*state = s;
	return 0;
}

static inline int scratch_teardown(void **state)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", ".lock" };
	struct scratch *s = *state;

	scratch_close(s);
	(void)uv_run(&s->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&s->loop), 0);
	for (size_t i = 0; i < count_of(suffixes); i++) {
		scoped_free char *path = xasprintf("%s%s", s->db, suffixes[i]);

		(void)unlink(path);
	}
	assert_int_equal(rmdir(s->dir), 0);
	free(s);
	return 0;
}

#define scratch_test(name)                                                     \
	cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
