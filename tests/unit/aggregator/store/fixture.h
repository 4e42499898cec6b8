/* A database without threads, with a clock of its own, for tests. */
#pragma once

#include "aggregator/store/compact.h"
#include "aggregator/store/head.h"
#include "aggregator/store/rollups.h"
#include "aggregator/store/schema.h"
#include "proto/wire.h"
#include "tests/unit/aggregator/scratch.h"

#include <sqlite3.h>

static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 'a' };
static const uint64_t hour_ms = 3600000;

struct fixture {
	struct scratch *scratch;
	struct sqlite3 *db;
	struct head *head;
	struct compact *compact;
	struct hour_scan *scan;
	struct rollups rollups;
	int64_t node;
	uint64_t now_ms;
};

static inline int fixture_setup(void **state)
{
	static _Atomic bool stopping;
	struct fixture *f = xcalloc(1, sizeof(*f));
	void *scratch;
	int r = scratch_setup(&scratch);

	f->scratch = scratch;
	*state = f;
	assert_int_equal(db_open(&f->db, f->scratch->db, NULL), 0);
	assert_int_equal(store_schema_prepare(f->db, &stopping, NULL), 0);
	assert_int_equal(head_new(&f->head, f->db, NULL), 0);
	assert_int_equal(compact_new(&f->compact, f->db, hour_ms, NULL), 0);
	assert_int_equal(hour_scan_new(&f->scan, f->db, NULL), 0);
	f->rollups = (struct rollups){ .db = f->db,
		.scan = f->scan,
		.age_ms = hour_ms };
	assert_int_equal(head_find_node(&f->node, f->head, "n1", NULL), 0);
	f->now_ms = UINT64_C(1790000000000) / hour_ms * hour_ms + 10 * hour_ms;
	return r;
}

static inline int fixture_teardown(void **state)
{
	struct fixture *f = *state;
	void *scratch = f->scratch;

	hour_scan_free(f->scan);
	compact_free(f->compact);
	head_free(f->head);
	assert_int_equal(sqlite3_close(f->db), SQLITE_OK);
	free(f);
	return scratch_teardown(&scratch);
}

static inline struct report fixture_report(uint64_t seq)
{
	struct vm_pod vms[2] = { sample_vm("pod-1", 7), sample_vm("pod-2", 8) };
	struct report r = steady_report(seq, 2 * (double)seq, 1.5);

	r.load1 = (double)(seq % 300) / 100;
	vms[0].cpu_usage_us = seq * 1000000;
	vms[1].anon_shmem_bytes = seq % 5 == 0 ? seq << 20 : REPORT_UNKNOWN;
	sample_add_vms(&r, vms, seq % 7 == 0 ? 1 : 2);
	return r;
}

/* Names the pods pod-FIRST to pod-(FIRST + COUNT - 1). */
static inline void fixture_crowd(struct report *r, size_t first, size_t count)
{
	r->vms = xcalloc(count, sizeof(*r->vms));
	r->vm_count = count;
	for (size_t i = 0; i < count; i++) {
		vm_pod_init(&r->vms[i]);
		(void)snprintf(r->vms[i].pod_uid, sizeof(r->vms[i].pod_uid),
			"pod-%zu", first + i);
	}
}

/* Takes the report. */
static inline void fixture_add_report(struct fixture *f, struct report *r,
	uint64_t sample_ms)
{
	scoped_buffer struct buffer body = BUFFER_MAX(1 << 20);
	struct head_report row = { .node = f->node,
		.run_id = run_a,
		.seq = r->seq,
		.sample_ms = sample_ms,
		.stored_ms = f->now_ms };

	wire_pack_report(&body, r);
	report_fini(r);
	row.body = body.data;
	row.len = body.len;
	assert_true(head_add(f->head, &row, NULL) >= 0);
}

static inline void fixture_add_at(struct fixture *f, uint64_t seq,
	uint64_t sample_ms)
{
	struct report r = fixture_report(seq);

	fixture_add_report(f, &r, sample_ms);
}

/* Seq s is at base + 0.7 s + 2 s times s, so intervals cross minutes. */
static inline void fixture_add_range(struct fixture *f, uint64_t base_ms,
	uint64_t from, uint64_t to)
{
	assert_int_equal(db_exec(f->db, "BEGIN", NULL), 0);
	for (uint64_t seq = from; seq < to; seq++) {
		fixture_add_at(f, seq, base_ms + 700 + 2000 * seq);
	}
	assert_int_equal(db_exec(f->db, "COMMIT", NULL), 0);
}

static inline void fixture_pack_all(struct fixture *f)
{
	bool is_idle = false;

	for (int i = 0; !is_idle && i < 10000; i++) {
		assert_int_equal(
			compact_step(f->compact, &is_idle, f->now_ms, NULL), 0);
	}
	assert_true(is_idle);
}

static inline void fixture_roll_up_all(struct fixture *f)
{
	bool is_idle = false;

	while (!is_idle) {
		assert_int_equal(
			rollups_step(&f->rollups, &is_idle, f->now_ms, NULL),
			0);
	}
}

static inline int64_t fixture_number(struct fixture *f, const char *sql)
{
	int64_t value = 0;

	assert_int_equal(db_read_number(&value, f->db, sql, NULL), 0);
	return value;
}

#define fixture_test(name)                                                     \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
