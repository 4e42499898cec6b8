/* A database under maintenance, with clocks that the test moves. */
#pragma once

#include "aggregator/store/decisions.h"
#include "aggregator/store/maintenance.h"
#include "aggregator/store/move_table.h"
#include "aggregator/store/outbox_table.h"
#include "tests/unit/aggregator/store/count_hours.h"

#include <inttypes.h>

static const uint64_t day_ms = 24 * UINT64_C(3600000);

struct maintained {
	struct fixture *f;
	struct decisions *decisions;
	struct move_table *moves;
	struct outbox_table *outbox;
	struct maintenance *maintenance;
	struct store_options options;
	struct maintenance_now now;
	uint64_t seq; /* of the last report */
};

static inline void maintained_open(struct maintained *m)
{
	assert_int_equal(
		maintenance_new(&m->maintenance, m->f->db, &m->options, NULL),
		0);
}

/* Makes the tables, before a test measures the database. */
static inline void maintained_make_tables(struct fixture *f)
{
	struct decisions *decisions;
	struct move_table *moves;

	assert_int_equal(decisions_new(&decisions, f->db, NULL), 0);
	assert_int_equal(move_table_new(&moves, f->db, NULL), 0);
	decisions_free(decisions);
	move_table_free(moves);
}

static inline void maintained_init(struct maintained *m, struct fixture *f,
	const struct store_options *options)
{
	*m = (struct maintained){ .f = f,
		.options = *options,
		.now = { 1000000000, f->now_ms },
		.seq = 1000000 };
	assert_int_equal(decisions_new(&m->decisions, f->db, NULL), 0);
	assert_int_equal(move_table_new(&m->moves, f->db, NULL), 0);
	assert_int_equal(outbox_table_new(&m->outbox, f->db,
				 options->outbox_bytes, NULL),
		0);
	maintained_open(m);
}

static inline void maintained_fini(struct maintained *m)
{
	maintenance_free(m->maintenance);
	decisions_free(m->decisions);
	move_table_free(m->moves);
	outbox_table_free(m->outbox);
}

/* Time passes on both clocks until the next step, which is done. */
static inline void maintained_step(struct maintained *m)
{
	uint64_t due_us = maintenance_due_us(m->maintenance);

	if (due_us > m->now.monotonic_us) {
		m->now.wall_ms += (due_us - m->now.monotonic_us) / 1000;
		m->now.monotonic_us = due_us;
	}
	m->f->now_ms = m->now.wall_ms;
	assert_int_equal(maintenance_step(m->maintenance, &m->now, NULL), 0);
}

/* Steps for so long, with a report each minute. */
static inline void maintained_run(struct maintained *m, uint64_t minutes)
{
	for (uint64_t i = 0; i < minutes; i++) {
		uint64_t end_us = m->now.monotonic_us + 60000000;

		fixture_add_at(m->f, ++m->seq, m->now.wall_ms);
		while (m->now.monotonic_us < end_us) {
			maintained_step(m);
		}
	}
}

/* A millisecond apart, from this time on. */
static inline void maintained_add_decisions(struct maintained *m, size_t count,
	uint64_t wall_ms)
{
	struct store_batch *batch = store_decisions_new();
	struct decision_record record = { .namespace = "a",
		.pod = "p",
		.uid = "u",
		.policy = "real-load",
		.margin = NAN };

	memset(record.sentence, 'x', 500);
	for (size_t i = 0; i < count; i++) {
		record.wall_us = (wall_ms + i) * 1000;
		store_decisions_add(batch, &record);
	}
	assert_int_equal(db_exec(m->f->db, "BEGIN", NULL), 0);
	assert_int_equal(decisions_write(m->decisions, batch, NULL), 0);
	assert_int_equal(db_exec(m->f->db, "COMMIT", NULL), 0);
	store_batch_free(batch);
}

static inline void maintained_add_moves(struct maintained *m, size_t count,
	uint64_t wall_ms)
{
	struct store_batch *batch = store_moves_new();
	struct move_record move = { .revision = 1,
		.namespace = "a",
		.vm = "v",
		.source = "n1" };

	memset(move.sentence, 'x', 500);
	for (size_t i = 0; i < count; i++) {
		move.wall_us = (wall_ms + i) * 1000;
		(void)snprintf(move.id, sizeof(move.id), "%" PRIu64,
			move.wall_us);
		store_moves_add(batch, &move);
	}
	assert_int_equal(db_exec(m->f->db, "BEGIN", NULL), 0);
	assert_int_equal(move_table_write(m->moves, batch, NULL), 0);
	assert_int_equal(db_exec(m->f->db, "COMMIT", NULL), 0);
	store_batch_free(batch);
}
