/* A store on a temporary directory with a loop around it, for tests. */
#pragma once

#include "aggregator/store/store.h"
#include "lib/memory.h"
#include "lib/mq.h"
#include "proto/wire.h"
#include "tests/unit/aggregator/sample.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCRATCH_DECISIONS_KEPT_US UINT64_C(3600000000)

struct scratch {
	uv_loop_t loop;
	char dir[96], db[128];
	struct store *store;
	bool is_opened, is_closed, is_written, is_stored;
	size_t seeds;
	uint64_t seed_ms, seed_seq;
	uint64_t max_bytes, compact_us; /* 0: no limit; an hour */
	uint64_t outbox_bytes;
	char seed_node[REPORT_NODE_MAX];
	struct error opening; /* code 0: it went well */
};

static inline void scratch_seed(void *owner, const struct store_row *row)
{
	struct scratch *s = owner;

	s->seeds++;
	s->seed_ms = row->sample_ms;
	s->seed_seq = row->report->seq;
	(void)snprintf(s->seed_node, sizeof(s->seed_node), "%s", row->node);
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

/* Packs a report into the batch. */
static inline void scratch_add(struct store_batch *batch,
	const struct report *report, uint64_t sample_ms)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(MQ_RECV_MAX);

	wire_pack_report(&bytes, report);
	store_batch_add(batch, report->seq, sample_ms,
		&(const struct packed_report){ (const uint8_t *)bytes.data,
			bytes.len });
}

static inline void scratch_written(void *owner, bool is_stored)
{
	struct scratch *s = owner;

	s->is_written = true;
	s->is_stored = is_stored;
}

/* Opens the store and waits for how that went. */
static inline void scratch_open(struct scratch *s, uint64_t retention_us)
{
	struct store_options options = { .path = s->db,
		.retention_us = { retention_us, retention_us, retention_us },
		.max_bytes = s->max_bytes,
		.compact_us = s->compact_us == 0 ? UINT64_C(3600000000)
						 : s->compact_us,
		.seed = scratch_seed,
		.opened = scratch_opened,
		.closed = scratch_closed,
		.owner = s,
		.decisions_kept_us = SCRATCH_DECISIONS_KEPT_US,
		.outbox_bytes = s->outbox_bytes };

	s->is_opened = false;
	s->is_closed = false;
	s->seeds = 0;
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
	char path[160];

	scratch_close(s);
	(void)uv_run(&s->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&s->loop), 0);
	for (size_t i = 0; i < count_of(suffixes); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", s->db, suffixes[i]);
		(void)unlink(path);
	}
	assert_int_equal(rmdir(s->dir), 0);
	free(s);
	return 0;
}

/* The write lock of the write-ahead log, byte 120 of the -shm file (SQLite's
 * wal.c, WAL_LOCK_OFFSET), as another process would hold it: an open file
 * description's lock is not shared with SQLite's own. Waits while the store
 * writes. Closing the descriptor lets go. */
static inline int scratch_block_writes(const struct scratch *s)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = 120, .l_len = 1 };
	char path[160];
	int fd;

	(void)snprintf(path, sizeof(path), "%s-shm", s->db);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLKW, &lock), 0);
	return fd;
}
