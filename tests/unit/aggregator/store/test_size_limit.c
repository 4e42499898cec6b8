#include "aggregator/store/size_limit.h"

#include "aggregator/store/partition.h"
#include "tests/unit/aggregator/store/maintained.h"

static const char count_rows[] = "SELECT count(*) FROM head";
static const char count_decisions[] = "SELECT count(*) FROM decision";
static const char count_outbox[] = "SELECT count(*) FROM outbox_shard";

/* Without deletion by age. */
static struct store_options limited(uint64_t max_bytes)
{
	return (struct store_options){ .compact_us = 1000000 * hour_ms,
		.retention_us = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
		.decisions_kept_us = UINT64_MAX,
		.max_bytes = max_bytes };
}

static uint64_t used_bytes(struct fixture *f)
{
	return (uint64_t)(fixture_number(f, "PRAGMA page_count") -
		       fixture_number(f, "PRAGMA freelist_count")) *
		(uint64_t)fixture_number(f, "PRAGMA page_size");
}

/* Steps until the database is below its limit. */
static void shrink(struct maintained *m)
{
	int steps = 0;

	while (used_bytes(m->f) > m->options.max_bytes && steps++ < 2000) {
		maintained_step(m);
	}
	assert_in_range(used_bytes(m->f), 1, m->options.max_bytes);
}

static void set_node(struct fixture *f, const char *name)
{
	assert_int_equal(head_find_node(&f->node, f->head, name, NULL), 0);
}

/* A blob of the node in each hour. */
static void add_blobs(struct fixture *f, enum store_tier tier, uint64_t from_ms,
	size_t hours, size_t bytes)
{
	scoped_free char *body = xcalloc(1, bytes);
	struct partition_blob blob = { .node = f->node,
		.from_ms = from_ms,
		.body = body,
		.len = bytes };

	assert_int_equal(db_exec(f->db, "SAVEPOINT blobs", NULL), 0);
	for (size_t i = 0; i < hours; i++, blob.from_ms += hour_ms) {
		blob.to_ms = blob.from_ms;
		assert_int_equal(partition_add(f->db, tier, &blob, NULL), 0);
	}
	assert_int_equal(db_exec(f->db, "RELEASE blobs", NULL), 0);
}

static size_t count_blobs(struct fixture *f, enum store_tier tier,
	uint64_t from_ms, size_t hours)
{
	struct partition_reader reader = { .tier = tier };
	size_t count = 0;

	for (size_t i = 0; i < hours; i++, from_ms += hour_ms) {
		struct sqlite3_stmt *blobs;

		assert_int_equal(partition_select(&blobs, &reader, f->db,
					 f->node, from_ms, NULL),
			0);
		while (blobs != NULL && sqlite3_step(blobs) == SQLITE_ROW) {
			count++;
		}
		(void)sqlite3_reset(blobs);
	}
	partition_reader_fini(&reader);
	return count;
}

static void deletes_the_oldest_day_first(void **state)
{
	struct fixture *f = *state;
	uint64_t today_ms = f->now_ms / day_ms * day_ms;
	struct store_options options;
	struct maintained m;

	maintained_make_tables(f);
	for (uint64_t day = 3; day > 0; day--) {
		add_blobs(f, STORE_RAW, today_ms - day * day_ms, 24, 20000);
		add_blobs(f, STORE_1M, today_ms - day * day_ms, 24, 2000);
		add_blobs(f, STORE_1H, today_ms - day * day_ms, 24, 200);
	}
	fixture_add_at(f, 1, f->now_ms);
	options = limited(used_bytes(f) * 3 / 4);
	maintained_init(&m, f, &options);
	shrink(&m);
	/* No more than is too much. */
	assert_in_range(count_blobs(f, STORE_RAW, today_ms - 3 * day_ms, 24), 1,
		10);
	assert_int_equal(count_blobs(f, STORE_RAW, today_ms - 2 * day_ms, 48),
		48);
	assert_int_equal(count_blobs(f, STORE_1M, today_ms - 3 * day_ms, 72),
		72);
	assert_int_equal(count_blobs(f, STORE_1H, today_ms - 3 * day_ms, 72),
		72);
	assert_int_equal(fixture_number(f, count_rows), 1);
	maintained_fini(&m);
}

/* The clock was ahead, and the aggregator has run with the right one since. */
static void days_from_the_future_go_before_the_oldest(void **state)
{
	struct fixture *f = *state;
	uint64_t today_ms = f->now_ms / day_ms * day_ms;
	struct store_options options;
	struct maintained m;

	maintained_make_tables(f);
	add_blobs(f, STORE_RAW, today_ms - 3 * day_ms, 72, 20000);
	fixture_add_at(f, 1, f->now_ms);
	options = limited(used_bytes(f) + (200 << 10));
	maintained_init(&m, f, &options);
	maintained_run(&m, 12);
	add_blobs(f, STORE_RAW, today_ms + 2 * day_ms, 48, 20000);
	shrink(&m);
	assert_int_equal(count_blobs(f, STORE_RAW, today_ms - 3 * day_ms, 72),
		72);
	/* The last day goes first. */
	assert_int_equal(count_blobs(f, STORE_RAW, today_ms + 3 * day_ms, 24),
		0);
	assert_in_range(count_blobs(f, STORE_RAW, today_ms + 2 * day_ms, 24), 1,
		23);
	maintained_fini(&m);
}

/* The clock may be behind, and those days be the newest. */
static void days_from_the_future_stay_until_the_clock_is_steady(void **state)
{
	struct fixture *f = *state;
	uint64_t today_ms = f->now_ms / day_ms * day_ms;
	struct store_options options;
	struct maintained m;

	maintained_make_tables(f);
	add_blobs(f, STORE_RAW, today_ms - 3 * day_ms, 72, 20000);
	add_blobs(f, STORE_RAW, today_ms + 2 * day_ms, 48, 20000);
	fixture_add_at(f, 1, f->now_ms);
	options = limited(used_bytes(f) * 3 / 4);
	maintained_init(&m, f, &options);
	shrink(&m);
	assert_int_equal(count_blobs(f, STORE_RAW, today_ms + 2 * day_ms, 48),
		48);
	maintained_fini(&m);
}

static void deletes_minutes_when_one_day_of_reports_is_left(void **state)
{
	struct fixture *f = *state;
	uint64_t today_ms = f->now_ms / day_ms * day_ms;
	struct store_options options;
	struct maintained m;

	add_blobs(f, STORE_RAW, today_ms - day_ms, 24, 2000);
	for (uint64_t day = 3; day > 0; day--) {
		add_blobs(f, STORE_1M, today_ms - day * day_ms, 24, 20000);
	}
	options = limited(used_bytes(f) / 2);
	maintained_init(&m, f, &options);
	shrink(&m);
	assert_int_equal(count_blobs(f, STORE_RAW, today_ms - day_ms, 24), 24);
	assert_int_equal(count_blobs(f, STORE_1M, today_ms - 3 * day_ms, 24),
		0);
	assert_int_equal(count_blobs(f, STORE_1M, today_ms - day_ms, 24), 24);
	maintained_fini(&m);
}

static void holds_with_a_single_day(void **state)
{
	struct fixture *f = *state;
	uint64_t today_ms = f->now_ms / day_ms * day_ms;
	struct store_options options;
	struct maintained m;

	maintained_make_tables(f);
	add_blobs(f, STORE_RAW, today_ms, 10, 20000);
	add_blobs(f, STORE_1M, today_ms, 10, 2000);
	fixture_add_at(f, 1, f->now_ms);
	options = limited(used_bytes(f) * 7 / 10);
	maintained_init(&m, f, &options);
	shrink(&m);
	assert_int_equal(count_blobs(f, STORE_RAW, today_ms, 3), 0);
	assert_in_range(count_blobs(f, STORE_RAW, today_ms + 4 * hour_ms, 6), 4,
		6);
	assert_int_equal(count_blobs(f, STORE_1M, today_ms, 10), 10);
	assert_int_equal(fixture_number(f, count_rows), 1);
	maintained_fini(&m);
}

static void holds_with_nothing_but_hours(void **state)
{
	const size_t hours = 960;
	struct fixture *f = *state;
	uint64_t now_ms = f->now_ms;
	struct store_options options;
	struct maintained m;

	add_blobs(f, STORE_1H, now_ms - 40 * day_ms, hours, 2000);
	options = limited(used_bytes(f) / 2);
	maintained_init(&m, f, &options);
	shrink(&m);
	assert_in_range(count_blobs(f, STORE_1H, now_ms - 40 * day_ms, hours),
		300, 500);
	assert_int_equal(count_blobs(f, STORE_1H, now_ms - 10 * day_ms, 240),
		240);
	maintained_fini(&m);
}

/* More rows than half the limit go before the last minutes and hours. */
static void too_many_rows_do_not_cost_the_minutes(void **state)
{
	struct fixture *f = *state;
	uint64_t from_ms = f->now_ms - hour_ms;
	struct store_options options = limited(512 << 10);
	struct maintained m;

	add_blobs(f, STORE_1M, f->now_ms / hour_ms * hour_ms, 2, 20000);
	add_blobs(f, STORE_1H, f->now_ms / hour_ms * hour_ms, 2, 20000);
	fixture_add_range(f, from_ms, 1, 1800);
	maintained_init(&m, f, &options);
	shrink(&m);
	assert_int_equal(
		count_blobs(f, STORE_1M, f->now_ms / hour_ms * hour_ms, 1), 1);
	assert_in_range(fixture_number(f, count_rows), 1, 1700);
	maintained_fini(&m);
}

static void holds_with_nothing_but_rows_of_the_head(void **state)
{
	struct fixture *f = *state;
	uint64_t from_ms = f->now_ms - hour_ms;
	struct store_options options;
	struct maintained m;

	fixture_add_range(f, from_ms, 1, 1800);
	options = limited(used_bytes(f) / 2);
	maintained_init(&m, f, &options);
	shrink(&m);
	assert_in_range(fixture_number(f, count_rows), 1, 1000);
	assert_int_equal(fixture_number(f, "SELECT max(seq) FROM head"), 1799);
	maintained_fini(&m);
}

static void holds_with_nothing_but_moves(void **state)
{
	struct fixture *f = *state;
	struct store_options options = limited(512 << 10);
	struct maintained m;

	maintained_init(&m, f, &options);
	maintained_add_moves(&m, 2000, m.now.wall_ms);
	shrink(&m);
	assert_in_range(fixture_number(f, "SELECT count(*) FROM move"), 1,
		1999);
	maintained_fini(&m);
}

static void holds_with_nothing_but_decisions(void **state)
{
	struct fixture *f = *state;
	struct store_options options = limited(256 << 10);
	struct maintained m;

	maintained_init(&m, f, &options);
	/* The first to arrive go first, whatever their date. */
	maintained_add_decisions(&m, 2000, m.now.wall_ms + day_ms);
	maintained_add_decisions(&m, 200, m.now.wall_ms);
	shrink(&m);
	assert_in_range(fixture_number(f, count_decisions), 1, 2199);
	assert_int_equal(fixture_number(f,
				 "SELECT count(*) FROM decision WHERE id > "
				 "2190"),
		10);
	maintained_fini(&m);
}

static void decisions_above_their_share_go_before_reports(void **state)
{
	struct fixture *f = *state;
	struct store_options options;
	struct maintained m;

	options = limited(1 << 20);
	fixture_add_range(f, f->now_ms - hour_ms, 1, 400);
	maintained_init(&m, f, &options);
	maintained_add_decisions(&m, 6000, m.now.wall_ms);
	assert_true(used_bytes(f) > m.options.max_bytes);
	shrink(&m);
	assert_int_equal(fixture_number(f, count_rows), 399);
	maintained_fini(&m);
}

static void holds_with_nothing_but_the_queue_of_an_earlier_remote_write(
	void **state)
{
	struct fixture *f = *state;
	struct store_options options = limited(256 << 10);
	struct outbox_table *earlier;
	uint8_t body[2000] = { 0 };
	struct head_report report = { .node = f->node,
		.run_id = run_a,
		.body = body,
		.len = sizeof(body) };
	struct maintained m;

	assert_int_equal(outbox_table_new(&earlier, f->db, 1 << 30, NULL), 0);
	assert_int_equal(db_exec(f->db, "BEGIN", NULL), 0);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(outbox_table_add(earlier, &report, NULL), 0);
	}
	assert_int_equal(db_exec(f->db, "COMMIT", NULL), 0);
	outbox_table_free(earlier);
	fixture_add_range(f, f->now_ms - hour_ms, 1, 100);
	maintained_init(&m, f, &options);
	shrink(&m);
	assert_int_equal(fixture_number(f, count_outbox), 0);
	assert_int_equal(fixture_number(f, count_rows), 99);
	maintained_fini(&m);
}

static void the_queue_of_remote_write_takes_no_more_than_its_limit(void **state)
{
	struct fixture *f = *state;
	struct outbox_table *outbox;
	static uint8_t body[70000];
	struct head_report report = { .node = f->node,
		.run_id = run_a,
		.body = body };
	uint64_t empty = used_bytes(f);

	/* Rows that leave half of a page empty, and rows with pages. */
	static const size_t sizes[] = { 2100, 3000, 5000, 70000, 100 };

	assert_int_equal(outbox_table_new(&outbox, f->db, 1 << 20, NULL), 0);
	for (size_t s = 0; s < count_of(sizes); s++) {
		assert_int_equal(db_exec(f->db, "BEGIN", NULL), 0);
		for (size_t i = 0; i < (2 << 20) / sizes[s]; i++) {
			report.len = sizes[s];
			report.node = (int64_t)i;
			assert_int_equal(
				outbox_table_add(outbox, &report, NULL), 0);
		}
		assert_int_equal(db_exec(f->db, "COMMIT", NULL), 0);
		assert_in_range(used_bytes(f) - empty, (1 << 20) * 8 / 10,
			(1 << 20) * 11 / 10);
	}
	outbox_table_free(outbox);
}

/* Nodes with blobs of this size on three days. */
static void add_nodes(struct fixture *f, int first, int last, size_t bytes)
{
	uint64_t today_ms = f->now_ms / day_ms * day_ms;

	assert_int_equal(db_exec(f->db, "BEGIN", NULL), 0);
	for (uint64_t day = 3; day > 0; day--) {
		for (int node = first; node <= last; node++) {
			char name[16];

			(void)snprintf(name, sizeof(name), "n%d", node);
			set_node(f, name);
			add_blobs(f, STORE_RAW, today_ms - day * day_ms, 24,
				bytes);
		}
	}
	assert_int_equal(db_exec(f->db, "COMMIT", NULL), 0);
}

static size_t blobs_of(struct fixture *f, const char *name)
{
	uint64_t today_ms = f->now_ms / day_ms * day_ms;

	set_node(f, name);
	return count_blobs(f, STORE_RAW, today_ms - 3 * day_ms, 72);
}

static void a_greedy_node_loses_its_own_days(void **state)
{
	struct fixture *f = *state;
	struct store_options options;
	struct maintained m;

	add_nodes(f, 1, 1, 200000);
	add_nodes(f, 2, 10, 5000);
	options = limited(used_bytes(f) / 2);
	maintained_init(&m, f, &options);
	shrink(&m);
	assert_in_range(blobs_of(f, "n1"), 20, 35);
	assert_int_equal(blobs_of(f, "n2"), 72);
	assert_int_equal(blobs_of(f, "n10"), 72);
	maintained_fini(&m);
}

static void a_greedy_node_keeps_its_share(void **state)
{
	struct fixture *f = *state;
	struct store_options options = limited(2 << 20);
	struct maintained m;

	add_nodes(f, 1, 1, 200000);
	add_nodes(f, 2, 10, 5000);
	maintained_init(&m, f, &options);
	shrink(&m);
	/* Four times the 360 kB of the others, and then the oldest day. */
	assert_in_range(blobs_of(f, "n1"), 1, 7);
	assert_in_range(blobs_of(f, "n2"), 15, 47);
	assert_in_range(blobs_of(f, "n10"), 15, 47);
	maintained_fini(&m);
}

static void a_greedy_node_loses_its_own_rows(void **state)
{
	struct fixture *f = *state;
	struct store_options options;
	struct maintained m;
	uint64_t from_ms = f->now_ms - 12 * hour_ms;

	for (int node = 1; node <= 10; node++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "n%d", node);
		set_node(f, name);
		fixture_add_range(f, from_ms, 1, node == 1 ? 20001 : 301);
	}
	options = limited(used_bytes(f) / 2);
	maintained_init(&m, f, &options);
	shrink(&m);
	/* Honest reports are of the first ten minutes: the oldest. */
	assert_int_equal(fixture_number(f,
				 "SELECT count(*) FROM head JOIN run ON"
				 " run.id = head.run WHERE node > 1"),
		2700);
	assert_in_range(fixture_number(f, count_rows), 5000, 15000);
	maintained_fini(&m);
}

/* Names with little data do not make the others look greedy. */
static void invented_names_change_nothing(void **state)
{
	struct fixture *f = *state;
	struct store_options options;
	struct maintained m;

	add_nodes(f, 1, 1, 6000);
	add_nodes(f, 2, 40, 2000);
	add_nodes(f, 41, 240, 20);
	options = limited(used_bytes(f) * 9 / 10);
	maintained_init(&m, f, &options);
	shrink(&m);
	assert_in_range(blobs_of(f, "n1"), 48, 71);
	assert_in_range(blobs_of(f, "n40"), 48, 72);
	maintained_fini(&m);
}

/* An agent that keeps sending reports of last month gives each step something
 * that is too old. */
static void reports_that_are_too_old_do_not_hold_it_up(void **state)
{
	struct fixture *f = *state;
	uint64_t now_ms = f->now_ms;
	struct store_options options = limited(0);
	struct maintained m;
	int steps = 0;

	fixture_add_at(f, 1, now_ms);
	options.retention_us[STORE_RAW] = day_ms * 1000;
	options.max_bytes = used_bytes(f) + 150000;
	maintained_init(&m, f, &options);
	maintained_run(&m, 12);
	add_blobs(f, STORE_RAW, now_ms - 12 * hour_ms, 10, 20000);
	while (used_bytes(f) > options.max_bytes && steps < 500) {
		fixture_add_at(f, 2 + (uint64_t)steps++, now_ms - 30 * day_ms);
		maintained_step(&m);
	}
	assert_in_range(steps, 0, 499);
	maintained_fini(&m);
}

static void counts_the_blobs_of_an_earlier_version(void **state)
{
	struct fixture *f = *state;
	int64_t bytes;
	_Atomic bool stopping = false;

	add_blobs(f, STORE_RAW, f->now_ms, 30, 1000);
	add_blobs(f, STORE_1M, f->now_ms, 30, 100);
	add_blobs(f, STORE_1H, f->now_ms, 30, 10);
	bytes = fixture_number(f, "SELECT bytes FROM blob_bytes");
	assert_int_equal(bytes, 33300);
	assert_int_equal(
		partition_delete(f->db, STORE_RAW, f->node, f->now_ms, NULL),
		0);
	bytes = fixture_number(f, "SELECT bytes FROM blob_bytes");
	assert_int_equal(bytes, 32300);
	assert_int_equal(db_exec(f->db, "DROP TABLE blob_bytes", NULL), 0);
	assert_int_equal(store_schema_prepare(f->db, &stopping, NULL), 0);
	assert_int_equal(fixture_number(f, "SELECT bytes FROM blob_bytes"),
		bytes);
}

static void without_a_limit_the_size_is_known_and_nothing_is_deleted(
	void **state)
{
	struct fixture *f = *state;
	const struct store_options options = limited(0);
	uint64_t from_ms = f->now_ms - 12 * hour_ms;
	struct maintained m;

	add_blobs(f, STORE_RAW, from_ms, 10, 20000);
	maintained_init(&m, f, &options);
	assert_int_equal(maintenance_used_bytes(m.maintenance), 0);
	for (int i = 0; i < 20; i++) {
		maintained_step(&m);
		assert_int_equal(maintenance_used_bytes(m.maintenance),
			used_bytes(f));
	}
	assert_int_equal(count_blobs(f, STORE_RAW, from_ms, 10), 10);
	maintained_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(deletes_the_oldest_day_first),
		fixture_test(days_from_the_future_go_before_the_oldest),
		fixture_test(
			days_from_the_future_stay_until_the_clock_is_steady),
		fixture_test(deletes_minutes_when_one_day_of_reports_is_left),
		fixture_test(holds_with_a_single_day),
		fixture_test(holds_with_nothing_but_hours),
		fixture_test(too_many_rows_do_not_cost_the_minutes),
		fixture_test(holds_with_nothing_but_rows_of_the_head),
		fixture_test(holds_with_nothing_but_decisions),
		fixture_test(holds_with_nothing_but_moves),
		fixture_test(decisions_above_their_share_go_before_reports),
		fixture_test(
			holds_with_nothing_but_the_queue_of_an_earlier_remote_write),
		fixture_test(
			the_queue_of_remote_write_takes_no_more_than_its_limit),
		fixture_test(a_greedy_node_loses_its_own_days),
		fixture_test(a_greedy_node_keeps_its_share),
		fixture_test(a_greedy_node_loses_its_own_rows),
		fixture_test(invented_names_change_nothing),
		fixture_test(reports_that_are_too_old_do_not_hold_it_up),
		fixture_test(counts_the_blobs_of_an_earlier_version),
		fixture_test(
			without_a_limit_the_size_is_known_and_nothing_is_deleted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
