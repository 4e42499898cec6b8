/* Moves in the store: revisions, filters and pages. */
#include "aggregator/store/move_table.h"

#include "aggregator/store/db.h"
#include "aggregator/store/records.h"
#include "lib/clock.h"
#include "tests/unit/aggregator/scratch.h"

#include <sqlite3.h>

static const uint64_t day_us = UINT64_C(86400000000);

/* web-ID moves from node-ID to node-(ID + 1) at second ID. */
static struct move_record move_of(unsigned id, uint32_t revision)
{
	struct move_record move = { .revision = revision,
		.namespace = "shop",
		.state = MOVE_RECOMMENDED,
		.wall_us = UINT64_C(1000000) * id };

	(void)snprintf(move.id, sizeof(move.id), "id-%u", id);
	(void)snprintf(move.vm, sizeof(move.vm), "web-%u", id);
	(void)snprintf(move.source, sizeof(move.source), "node-%u", id);
	(void)snprintf(move.target, sizeof(move.target), "node-%u", id + 1);
#define X(field) move.field = NAN;
	MOVE_FIGURES(X)
#undef X
	return move;
}

static void write_move(struct scratch *s, const struct move_record *move)
{
	struct store_batch *batch = store_moves_new();

	store_moves_add(batch, move);
	assert_true(scratch_write(s, batch));
}

static void write_moves(struct scratch *s, unsigned first, unsigned last)
{
	for (unsigned id = first; id <= last; id++) {
		struct move_record move = move_of(id, 1);

		write_move(s, &move);
	}
}

struct found {
	char ids[200]; /* " 3 2 1" */
	struct move_record last;
	uint64_t last_row;
	size_t count;
	bool is_done;
	int code;
};

static bool on_move(void *owner, const struct store_move *move)
{
	struct found *found = owner;
	size_t len = strlen(found->ids);

	(void)snprintf(found->ids + len, sizeof(found->ids) - len, " %s",
		strlen(move->record.id) > 3 ? move->record.id + 3 : "");
	found->count++;
	found->last = move->record;
	found->last_row = move->row;
	return true;
}

static void on_done(void *owner, const struct error *err)
{
	struct found *found = owner;

	found->is_done = true;
	found->code = err == NULL ? 0 : err->code;
}

static struct found query(struct scratch *s, struct store_moves_read read)
{
	struct found found = { 0 };

	read.move = on_move;
	read.done = on_done;
	read.owner = &found;
	read.limit = read.limit == 0 ? STORE_RECORDS_MAX : read.limit;
	assert_int_equal(store_query_moves(s->store, &read, NULL), 0);
	run_until(&s->loop, &found.is_done);
	assert_int_equal(found.code, 0);
	return found;
}

#define newest(...)                                                            \
	query(s,                                                               \
		(struct store_moves_read){ .before_ms = UINT64_MAX,            \
			__VA_ARGS__ })                                         \
		.ids

static void a_move_is_found_by_an_id_of_one_letter(void **state)
{
	struct scratch *s = *state;
	struct move_record move = move_of(1, 1);
	struct found found;

	scratch_open(s, day_us);
	write_moves(s, 1, 2);
	(void)snprintf(move.id, sizeof(move.id), "m");
	write_move(s, &move);
	found = query(s,
		(struct store_moves_read){ .before_ms = UINT64_MAX,
			.limit = 10,
			.id = "m" });
	assert_string_equal(found.last.id, "m");
	assert_int_equal(found.count, 1);
}

static void lists_moves_newest_first_by_each_filter(void **state)
{
	struct scratch *s = *state;
	struct move_record move;

	scratch_open(s, day_us);
	write_moves(s, 1, 4);
	move = move_of(3, 2);
	move.state = MOVE_SUCCEEDED;
	write_move(s, &move);
	assert_string_equal(newest(.limit = 100), " 4 3 2 1");
	assert_string_equal(newest(.namespace = "shop", .vm = "web-2"), " 2");
	assert_string_equal(newest(.namespace = "prod", .vm = "web-2"), "");
	assert_string_equal(newest(.namespace = "shop"), " 4 3 2 1");
	assert_string_equal(newest(.namespace = "prod"), "");
	assert_string_equal(newest(.namespace = "shop", .id = "id-2"), " 2");
	assert_string_equal(newest(.namespace = "prod", .id = "id-2"), "");
	assert_string_equal(newest(.node = "node-3"), " 3 2");
	assert_string_equal(
		newest(.has_state = true, .state = MOVE_RECOMMENDED), " 4 2 1");
	assert_string_equal(newest(.has_state = true, .state = MOVE_SUCCEEDED,
				    .node = "node-4"),
		" 3");
	assert_string_equal(newest(.since_ms = 3000), " 4 3");
}

static void continues_a_list_before_the_last_move_of_a_page(void **state)
{
	struct scratch *s = *state;
	struct store_moves_read read = { .before_ms = UINT64_MAX, .limit = 2 };
	struct move_record move;
	struct found found;

	scratch_open(s, day_us);
	write_moves(s, 1, 3);
	/* Two of the same time. */
	move = move_of(4, 1);
	move.wall_us = 3000000;
	write_move(s, &move);
	found = query(s, read);
	assert_string_equal(found.ids, " 4 3");
	read.before_ms = 3000;
	read.before_row = found.last_row;
	found = query(s, read);
	assert_string_equal(found.ids, " 2 1");
}

static void the_highest_revision_of_an_id_counts(void **state)
{
	struct scratch *s = *state;
	struct move_record newer = move_of(1, 3), older = move_of(1, 2);
	struct found found;

	scratch_open(s, day_us);
	write_moves(s, 1, 2);
	newer.state = MOVE_FAILED;
	newer.ended_us = 9000000;
	write_move(s, &newer);
	write_move(s, &older);
	found = query(s,
		(struct store_moves_read){ .namespace = "shop",
			.vm = "web-1",
			.before_ms = UINT64_MAX });
	assert_string_equal(found.ids, " 1");
	assert_int_equal(found.last.revision, 3);
	assert_int_equal(found.last.state, MOVE_FAILED);
}

static void pages_for_a_leader_keep_their_order_when_a_move_changes(
	void **state)
{
	struct scratch *s = *state;
	struct store_moves_read read = { .is_by_row = true, .limit = 2 };
	struct move_record move = move_of(1, 2);
	struct found found;

	scratch_open(s, day_us);
	write_moves(s, 1, 3);
	found = query(s, read);
	assert_string_equal(found.ids, " 1 2");
	move.ended_us = 60000000;
	write_move(s, &move);
	read.after = found.last_row;
	found = query(s, read);
	assert_string_equal(found.ids, " 3");
	/* The one that changed, by its own times. */
	read = (struct store_moves_read){ .is_by_row = true,
		.since_ms = 60000 };
	assert_string_equal(query(s, read).ids, " 1");
}

static int count_steps(void *owner)
{
	(*(unsigned *)owner)++;
	return 0;
}

static bool on_any_move(void *owner, const struct store_move *move)
{
	(void)owner;
	(void)move;
	return true;
}

/* In hundreds of steps of SQLite. */
static unsigned cost_of(struct sqlite3 *db, struct store_moves_read read)
{
	unsigned steps = 0;

	read.move = on_any_move;
	read.limit = STORE_RECORDS_MAX;
	read.before_ms = UINT64_MAX;
	sqlite3_progress_handler(db, 100, count_steps, &steps);
	assert_int_equal(move_table_read(db, &read, NULL), 0);
	return steps;
}

/* One thread reads for all requests. */
static void a_filter_reads_only_the_moves_that_it_selects(void **state)
{
	static const char many[] =
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
		" WHERE i < 20000) INSERT INTO move (move_id, revision,"
		" namespace, vm, source, target, state, wall_ms, changed_ms,"
		" body) SELECT i, 1, 'shop', 'web-' || i, 'node-' || (i % 200),"
		" 'node-' || (i * 7 % 200), 1 + (i = 2), i, i, x'' FROM n";
	static const struct store_moves_read reads[] = {
		{ .has_state = true, .state = MOVE_ORDERED },
		{ .node = "node-none" },
		{ .node = "node-3" },
		{ .node = "node-3", .has_state = true, .state = MOVE_ORDERED },
		{ .namespace = "shop",
			.vm = "web-7",
			.node = "node-3",
			.has_state = true,
			.state = MOVE_WITHDRAWN },
	};
	struct sqlite3 *db = NULL;
	struct move_table *table = NULL;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(move_table_new(&table, db, NULL), 0);
	assert_int_equal(db_exec(db, many, NULL), 0);
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		assert_in_range(cost_of(db, reads[i]), 0, 100);
	}
	move_table_free(table);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void moves_survive_a_restart(void **state)
{
	struct scratch *s = *state;

	scratch_open(s, day_us);
	write_moves(s, 1, 3);
	scratch_close(s);
	scratch_open(s, day_us);
	assert_string_equal(newest(.limit = 9), " 3 2 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(lists_moves_newest_first_by_each_filter),
		scratch_test(a_move_is_found_by_an_id_of_one_letter),
		scratch_test(continues_a_list_before_the_last_move_of_a_page),
		scratch_test(the_highest_revision_of_an_id_counts),
		scratch_test(
			pages_for_a_leader_keep_their_order_when_a_move_changes),
		scratch_test(a_filter_reads_only_the_moves_that_it_selects),
		scratch_test(moves_survive_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
