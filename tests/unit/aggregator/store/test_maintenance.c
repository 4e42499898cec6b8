#include "aggregator/store/maintenance.h"

#include "aggregator/store/compact.h"
#include "aggregator/store/partition.h"
#include "aggregator/store/offline_reader.h"
#include "aggregator/store/pod_nodes.h"
#include "aggregator/store/rollups.h"
#include "aggregator/store/head.h"
#include "lib/clock.h"
#include "proto/wire.h"
#include "tests/unit/aggregator/scratch.h"

#include <errno.h>
#include <sqlite3.h>

static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 'a' };
static const uint64_t hour_ms = 3600000;

/* A database without threads around it, and a clock of its own. */
struct fixture {
	struct scratch *scratch;
	struct sqlite3 *db;
	struct tail *tail;
	struct compact *compact;
	struct scan *scan;
	int64_t node;
	uint64_t now_ms;
};

static int setup(void **state)
{
	static _Atomic bool stopping;
	struct fixture *f = xcalloc(1, sizeof(*f));
	void *scratch;
	int r = scratch_setup(&scratch);

	f->scratch = scratch;
	*state = f;
	assert_int_equal(store_db_open(&f->db, f->scratch->db, NULL), 0);
	assert_int_equal(store_db_prepare_schema(f->db, &stopping, NULL), 0);
	assert_int_equal(tail_new(&f->tail, f->db, NULL), 0);
	assert_int_equal(compact_new(&f->compact, f->db, hour_ms, NULL), 0);
	assert_int_equal(scan_new(&f->scan, f->db, NULL), 0);
	assert_int_equal(tail_find_node(&f->node, f->tail, "n1", NULL), 0);
	f->now_ms = UINT64_C(1790000000000) / hour_ms * hour_ms + 10 * hour_ms;
	return r;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	void *scratch = f->scratch;

	scan_free(f->scan);
	compact_free(f->compact);
	tail_free(f->tail);
	(void)sqlite3_close(f->db);
	free(f);
	return scratch_teardown(&scratch);
}

static struct report report_at(uint64_t seq)
{
	struct vm_pod vms[2] = { sample_vm("pod-1", 7), sample_vm("pod-2", 8) };
	struct report r = steady_report(seq, 2 * (double)seq, 1.5);

	r.load1 = (double)(seq % 300) / 100;
	vms[0].cpu_usage_us = seq * 1000000;
	vms[1].anon_shmem_bytes = seq % 5 == 0 ? seq << 20 : REPORT_UNKNOWN;
	sample_add_vms(&r, vms, seq % 7 == 0 ? 1 : 2);
	return r;
}

static void add_at(struct fixture *f, uint64_t seq, uint64_t sample_ms)
{
	scoped_buffer struct buffer body = BUFFER_MAX(1 << 16);
	struct report r = report_at(seq);
	struct tail_report row = { .node = f->node,
		.run_id = run_a,
		.seq = seq,
		.sample_ms = sample_ms,
		.stored_ms = f->now_ms };

	wire_pack_report(&body, &r);
	report_fini(&r);
	row.body = body.data;
	row.len = body.len;
	assert_int_equal(tail_add(f->tail, &row, NULL), 0);
}

/* Seq s is at base + 0.7 s + 2 s times s: intervals lie across minutes. */
static void add_range(struct fixture *f, uint64_t base_ms, uint64_t from,
	uint64_t to)
{
	assert_int_equal(store_db_exec(f->db, "BEGIN", NULL), 0);
	for (uint64_t seq = from; seq < to; seq++) {
		add_at(f, seq, base_ms + 700 + 2000 * seq);
	}
	assert_int_equal(store_db_exec(f->db, "COMMIT", NULL), 0);
}

static void pack_all(struct fixture *f)
{
	bool is_idle = false;

	for (int i = 0; !is_idle && i < 1000; i++) {
		assert_int_equal(
			compact_step(f->compact, &is_idle, f->now_ms, NULL), 0);
	}
	assert_true(is_idle);
}

static int64_t number(struct fixture *f, const char *sql)
{
	struct sqlite3_stmt *statement;
	int64_t value;

	assert_int_equal(store_db_prepare(&statement, f->db, sql, NULL), 0);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	value = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return value;
}

struct seen {
	uint64_t count, last_ms;
};

/* Each is the report that was written, to the last bit, and in order. */
static bool on_row(void *owner, const struct store_row *row)
{
	struct seen *seen = owner;
	scoped_buffer struct buffer is = BUFFER_MAX(1 << 16);
	scoped_buffer struct buffer was = BUFFER_MAX(1 << 16);
	struct report r = report_at(row->report->seq);

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

static uint64_t count_hours(struct fixture *f, uint64_t from_ms, size_t hours)
{
	struct seen seen = { 0 };

	for (size_t h = 0; h < hours; h++) {
		struct scan_range range = { f->node, "n1", NULL,
			from_ms + h * hour_ms, from_ms + (h + 1) * hour_ms,
			FIELDS_ALL };
		bool is_done;

		assert_int_equal(scan_hour(f->scan, &is_done, &range, on_row,
					 &seen, NULL),
			0);
	}
	return seen.count;
}

static void packed_reports_are_the_same_reports(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	add_range(f, base_ms, 1, 4001);
	assert_int_equal(count_hours(f, base_ms, 3), 4000);
	f->now_ms += 2 * hour_ms;
	pack_all(f);
	assert_int_equal(number(f, "SELECT count(*) FROM tail"), 0);
	assert_int_equal(count_hours(f, base_ms, 3), 4000);
	assert_int_equal(number(f, "SELECT count(*) FROM rollup_due"), 3);
}

static void each_day_is_read_from_its_own_table(void **state)
{
	struct fixture *f = *state;
	uint64_t today_ms = f->now_ms - 4 * hour_ms;
	uint64_t before_ms = today_ms - 24 * hour_ms;

	add_range(f, before_ms, 1, 100);
	add_range(f, today_ms, 200, 250);
	f->now_ms += 2 * hour_ms;
	pack_all(f);
	assert_int_equal(number(f, "SELECT count(*) FROM tail"), 0);
	assert_int_equal(count_hours(f, before_ms, 1), 99);
	assert_int_equal(count_hours(f, today_ms, 1), 50);
	assert_int_equal(count_hours(f, before_ms, 25), 149);
}

static void the_newest_stay_rows_and_both_are_read_in_order(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms;

	add_range(f, base_ms, 1, 1800);
	f->now_ms = base_ms + hour_ms / 2;
	add_range(f, base_ms, 1800, 1900);
	f->now_ms = base_ms + hour_ms / 2 + hour_ms * 3 / 4;
	pack_all(f);
	assert_in_range(number(f, "SELECT count(*) FROM tail"), 90, 110);
	assert_int_equal(count_hours(f, base_ms, 2), 1899);
}

static void what_was_packed_is_not_stored_again(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	add_range(f, base_ms, 1, 500);
	add_range(f, base_ms, 700, 900);
	f->now_ms += 2 * hour_ms;
	pack_all(f);
	/* Another delay, other times; and what was missing. */
	add_range(f, base_ms + 3, 1, 900);
	assert_int_equal(number(f, "SELECT count(*) FROM tail"), 200);
	assert_int_equal(number(f, "SELECT count(*) FROM seqs"), 1);
	assert_int_equal(count_hours(f, base_ms, 2), 899);
	f->now_ms += 2 * hour_ms;
	pack_all(f);
	assert_int_equal(number(f, "SELECT count(*) FROM tail"), 0);
	assert_int_equal(count_hours(f, base_ms, 2), 899);
}

static void seqs_in_any_order_are_counted_once(void **state)
{
	struct fixture *f = *state;
	uint64_t seq = 1;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 101; i++) {
			seq = (seq + 37) % 101;
			add_at(f, seq + 1, f->now_ms);
		}
	}
	assert_int_equal(number(f, "SELECT count(*) FROM tail"), 101);
	assert_int_equal(number(f, "SELECT count(*) FROM seqs"), 1);
	assert_int_equal(number(f, "SELECT last FROM seqs"), 101);
}

/* ---- minutes and hours ---- */

struct minutes {
	size_t count;
	struct rollup_row rows[ROLLUP_ROWS];
};

static bool on_rollup(void *owner, const struct store_rollup *rollup)
{
	struct minutes *minutes = owner;

	minutes->rows[minutes->count] = *rollup->row;
	minutes->count++;
	return true;
}

static struct minutes minutes_of(struct fixture *f, uint64_t from_ms,
	enum store_tier tier, const char *pod_uid)
{
	struct minutes minutes = { 0 };
	struct store_read read = { .tier = tier,
		.rollup = on_rollup,
		.owner = &minutes };
	struct scan_range range = { f->node, "n1", pod_uid, from_ms,
		from_ms + hour_ms, FIELDS_ALL };
	bool is_done = false;

	assert_int_equal(store_read_rollup(f->scan, f->db, &is_done, &read,
				 &range, NULL),
		0);
	return minutes;
}

static void roll_up_all(struct fixture *f)
{
	bool is_idle = false;

	while (!is_idle) {
		assert_int_equal(store_roll_up(f->scan, f->db, &is_idle,
					 hour_ms, f->now_ms, NULL),
			0);
	}
}

static void assert_cores(const struct rollup_figure *figure, double cores)
{
	assert_true(fabs(figure->mean - cores) < 0.0006);
	assert_true(fabs(figure->max - cores) < 0.0006);
	assert_true(fabs(figure->p95 - cores) < 0.0006);
}

static void assert_hour(struct fixture *f, uint64_t base_ms)
{
	struct minutes node = minutes_of(f, base_ms, STORE_1M, NULL);
	struct minutes pod = minutes_of(f, base_ms, STORE_1M, "pod-1");
	struct minutes hour = minutes_of(f, base_ms, STORE_1H, NULL);

	assert_int_equal(node.count, 60);
	assert_int_equal(pod.count, 60);
	assert_int_equal(hour.count, 1);
	assert_int_equal(node.rows[59].from_ms, base_ms + hour_ms - 60000);
	assert_int_equal(node.rows[0].covered_ms, 60000 - 2700);
	assert_int_equal(node.rows[30].covered_ms, 60000);
	assert_cores(&node.rows[30].figures[ROLLUP_cpu_used_cores], 1.5);
	assert_cores(&pod.rows[30].figures[ROLLUP_VM_USED_CORES], 0.5);
	assert_cores(&hour.rows[0].figures[ROLLUP_cpu_used_cores], 1.5);
	assert_true(isnan(
		hour.rows[0].figures[ROLLUP_memory_working_set_bytes].mean));
	assert_int_equal(minutes_of(f, base_ms, STORE_1M, "pod-9").count, 0);
}

struct past {
	size_t minutes, pods, identities;
	double cores; /* of pod-1, summed up */
};

static bool on_minute(void *owner, const struct store_rollup *minute)
{
	struct past *past = owner;

	assert_string_equal(minute->node, "n1");
	past->minutes++;
	if (strcmp(minute->pod_uid, "pod-1") == 0) {
		past->cores += minute->row->figures[ROLLUP_VM_USED_CORES].mean;
	}
	past->pods += minute->pod_uid[0] != '\0';
	return true;
}

static void on_identity(void *owner, const struct store_vm *vm)
{
	struct past *past = owner;

	assert_string_equal(vm->pod_uid, "pod-1");
	assert_string_equal(vm->namespace, "n");
	assert_string_equal(vm->name, "web");
	past->identities++;
}

/* By a connection of its own that only reads: half an hour of it. */
static void assert_past(struct fixture *f, uint64_t base_ms)
{
	struct past past = { 0 };
	const struct store_past read = {
		.path = f->scratch->db,
		.from_ms = base_ms - hour_ms / 2,
		.to_ms = base_ms + hour_ms / 2,
		.identity = on_identity,
		.minute = on_minute,
		.owner = &past,
	};

	assert_int_equal(store_past_read(&read, NULL), 0);
	assert_int_equal(past.minutes, 90);
	assert_int_equal(past.pods, 60);
	assert_int_equal(past.identities, 1);
	assert_true(fabs(past.cores - 15) < 0.05);
}

static void the_past_of_all_is_read_beside_the_store(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	add_range(f, base_ms, 1, 3600);
	assert_int_equal(store_db_exec(f->db,
				 "INSERT INTO identity VALUES"
				 " ('pod-1', 'n', 'web', 'v', 1)",
				 NULL),
		0);
	assert_past(f, base_ms);
	f->now_ms += 2 * hour_ms;
	pack_all(f);
	roll_up_all(f);
	assert_past(f, base_ms);
}

static void a_past_of_another_format_is_refused(void **state)
{
	struct fixture *f = *state;
	const struct store_past read = { .path = f->scratch->db };
	struct error err;

	assert_int_equal(store_db_exec(f->db, "PRAGMA user_version = 9", NULL),
		0);
	assert_int_equal(store_past_read(&read, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "its format is 9"));
}

static void minutes_are_the_same_before_and_after_they_are_packed(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	add_range(f, base_ms, 1, 3600);
	assert_hour(f, base_ms);
	f->now_ms += 2 * hour_ms;
	pack_all(f);
	roll_up_all(f);
	assert_int_equal(number(f, "SELECT count(*) FROM rollup_due"), 0);
	assert_int_equal(number(f, "SELECT count(*) FROM place"), 2);
	assert_hour(f, base_ms);
}

static void late_reports_are_rolled_up_too(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	add_range(f, base_ms, 1, 900);
	f->now_ms += 2 * hour_ms;
	pack_all(f);
	roll_up_all(f);
	assert_int_equal(minutes_of(f, base_ms, STORE_1M, NULL).count, 30);
	add_range(f, base_ms, 900, 1800);
	f->now_ms += 2 * hour_ms;
	pack_all(f);
	roll_up_all(f);
	assert_hour(f, base_ms);
}

/* ---- letting go ---- */

static void the_oldest_day_goes_when_the_file_is_too_large(void **state)
{
	struct fixture *f = *state;
	uint64_t now_ms = clock_wall_us() / 1000;
	/* From midnight on: each range stays within its day at any hour. */
	uint64_t today_ms = now_ms / (24 * hour_ms) * (24 * hour_ms);
	struct store_options options = { .compact_us = 1000 * hour_ms,
		.retention_us = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
		.max_bytes = 1 };
	struct upkeep *upkeep;
	char sql[160];

	f->now_ms = now_ms - 2 * hour_ms;
	for (uint64_t day = 3; day > 0; day--) {
		add_range(f, today_ms - day * 24 * hour_ms, 1000 * day,
			1000 * day + 100);
	}
	f->now_ms = now_ms;
	pack_all(f);
	assert_int_equal(upkeep_new(&upkeep, f->db, &options, NULL), 0);
	(void)snprintf(sql, sizeof(sql),
		"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
		"name GLOB 'raw_*'");
	assert_int_equal(number(f, sql), 3);
	for (int i = 0; i < 100 && number(f, sql) > 1; i++) {
		while (clock_monotonic_us() < upkeep_due_us(upkeep)) {
		}
		assert_int_equal(upkeep_step(upkeep, NULL), 0);
	}
	assert_int_equal(number(f, sql), 1);
	assert_int_equal(count_hours(f, today_ms - 24 * hour_ms, 24), 100);
	upkeep_free(upkeep);
}

static void pods_of_which_nothing_is_left_are_forgotten(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;
	struct places *places;
	struct store_identity old = { .pod_uid = "pod-1", .name = "a" };
	struct store_identity young = { .pod_uid = "pod-2", .name = "b" };
	struct store_identity gone = { .pod_uid = "pod-3", .name = "c" };

	old.namespace = young.namespace = gone.namespace = "ns";
	old.vmi_uid = young.vmi_uid = gone.vmi_uid = "";
	assert_int_equal(places_new(&places, f->db, NULL), 0);
	assert_int_equal(places_identify(places, &old, f->node, base_ms, NULL),
		0);
	assert_int_equal(
		places_identify(places, &young, f->node, base_ms, NULL), 0);
	assert_int_equal(places_identify(places, &gone, f->node, base_ms, NULL),
		0);
	/* pod-1 was said of long ago and has run until lately. */
	assert_int_equal(places_note(places,
				 &(struct place_seen){ "pod-1", f->node,
					 base_ms, f->now_ms },
				 NULL),
		0);
	assert_int_equal(places_identify(places, &young, 0, f->now_ms, NULL),
		0);
	places_free(places);
	assert_int_equal(places_forget(f->db, base_ms + 1, NULL), 0);
	assert_int_equal(number(f, "SELECT count(*) FROM place"), 1);
	assert_int_equal(number(f, "SELECT count(*) FROM identity"), 2);
	assert_int_equal(
		number(f, "SELECT count(*) FROM identity WHERE name = 'c'"), 0);
}

/* ---- the format before ---- */

static void a_database_of_format_1_is_converted(void **state)
{
	static const char format_1[] =
		"CREATE TABLE node(id INTEGER PRIMARY KEY,"
		" name TEXT NOT NULL UNIQUE);"
		"CREATE TABLE report(id INTEGER PRIMARY KEY,"
		" node INTEGER NOT NULL, run_id BLOB NOT NULL,"
		" seq INTEGER NOT NULL, sample_ms INTEGER NOT NULL,"
		" body BLOB NOT NULL, UNIQUE(node, run_id, seq));"
		"CREATE INDEX report_time ON report(node, sample_ms);"
		"PRAGMA user_version = 1;"
		"INSERT INTO node SELECT * FROM old.node;"
		"INSERT INTO report SELECT tail.id, node, run_id, seq,"
		" sample_ms, body FROM old.tail JOIN old.run"
		" ON run.id = tail.run;";
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;
	static _Atomic bool stopping;
	struct sqlite3 *old = f->db;
	char sql[200];

	add_range(f, base_ms, 1, 1600);
	(void)snprintf(sql, sizeof(sql), "ATTACH '%s' AS old", f->scratch->db);
	scan_free(take_ptr(f->scan));
	compact_free(take_ptr(f->compact));
	tail_free(take_ptr(f->tail));
	assert_int_equal(sqlite3_open(":memory:", &f->db), SQLITE_OK);
	assert_int_equal(store_db_exec(f->db, sql, NULL), 0);
	assert_int_equal(store_db_exec(f->db, format_1, NULL), 0);
	assert_int_equal(store_db_prepare_schema(f->db, &stopping, NULL), 0);
	assert_int_equal(number(f, "PRAGMA user_version"), 2);
	assert_int_equal(number(f, "SELECT count(*) FROM main.tail"), 1599);
	assert_int_equal(number(f, "SELECT count(*) FROM main.seqs"), 1);
	assert_int_equal(scan_new(&f->scan, f->db, NULL), 0);
	assert_int_equal(store_db_exec(f->db, "DETACH old", NULL), 0);
	assert_int_equal(count_hours(f, base_ms, 2), 1599);
	(void)sqlite3_close(old);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(packed_reports_are_the_same_reports),
		test(each_day_is_read_from_its_own_table),
		test(the_newest_stay_rows_and_both_are_read_in_order),
		test(what_was_packed_is_not_stored_again),
		test(seqs_in_any_order_are_counted_once),
		test(minutes_are_the_same_before_and_after_they_are_packed),
		test(late_reports_are_rolled_up_too),
		test(the_past_of_all_is_read_beside_the_store),
		test(a_past_of_another_format_is_refused),
		test(the_oldest_day_goes_when_the_file_is_too_large),
		test(pods_of_which_nothing_is_left_are_forgotten),
		test(a_database_of_format_1_is_converted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
