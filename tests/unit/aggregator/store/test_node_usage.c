#include "aggregator/store/node_usage.h"

#include "tests/unit/aggregator/store/fixture.h"

enum { NODES = 100, SLOTS = 800, BYTES = 100, GREEDY = 7, GREEDY_BYTES = 3000 };

/* One row of each node in each slot, without reports. The greedy node has large
 * ones, but in each fifth slot: one that was always counted for five would hide
 * the others. */
static void fill(struct fixture *f, int nodes, int slots)
{
	scoped_free char *sql = xasprintf(
		"WITH RECURSIVE n(id) AS (SELECT 2 UNION ALL"
		" SELECT id + 1 FROM n WHERE id < %d)"
		" INSERT INTO node SELECT id, 'm' || id FROM n;"
		"WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL"
		" SELECT id + 1 FROM n WHERE id < %d),"
		" s(at) AS (SELECT %llu UNION ALL"
		" SELECT at + %llu FROM s LIMIT %d)"
		" INSERT INTO head SELECT ((at >> %d) << %d) | (id << %d), 1,"
		" 1, at, at, zeroblob(CASE WHEN id = %d AND (at >> %d) %% 5 <> "
		"0"
		" THEN %d ELSE %d END)"
		" FROM s, n;",
		nodes, nodes, (unsigned long long)(f->now_ms - hour_ms),
		(unsigned long long)HEAD_SLOT_MS, slots, HEAD_SLOT_BITS,
		HEAD_NODE_BITS + HEAD_OWN_BITS, HEAD_OWN_BITS, GREEDY,
		HEAD_SLOT_BITS, GREEDY_BYTES, BYTES);

	assert_int_equal(db_exec(f->db, sql, NULL), 0);
}

/* The number of steps. */
static size_t count_all(struct node_usage *usage)
{
	bool is_done = false;
	size_t steps = 0;

	for (; !is_done; steps++) {
		assert_int_equal(node_usage_step(usage, &is_done, NULL), 0);
	}
	return steps;
}

static uint64_t bytes_of(int nodes, int slots)
{
	enum { OTHER_COLUMNS = 30 };

	uint64_t large = (uint64_t)slots / 5 * 4;
	uint64_t small = (uint64_t)slots * (uint64_t)nodes - large;

	return large * db_row_bytes(GREEDY_BYTES + OTHER_COLUMNS) +
		small * db_row_bytes(BYTES + OTHER_COLUMNS);
}

static void few_rows_are_all_counted(void **state)
{
	struct fixture *f = *state;
	struct node_usage *usage;

	fill(f, 10, 50);
	assert_int_equal(node_usage_new(&usage, f->db, NULL), 0);
	(void)count_all(usage);
	assert_int_equal(node_usage_head_bytes(usage), bytes_of(10, 50));
	node_usage_free(usage);
}

/* 80,000 groups: one slot of five is counted, in 200 groups a step. */
static void of_many_rows_some_slots_count_for_all(void **state)
{
	struct fixture *f = *state;
	struct node_usage_excess excess;
	struct node_usage *usage;
	uint64_t bytes = bytes_of(NODES, SLOTS);

	fill(f, NODES, SLOTS);
	assert_int_equal(node_usage_new(&usage, f->db, NULL), 0);
	assert_in_range(count_all(usage), 80, 90);
	assert_in_range(node_usage_head_bytes(usage), bytes * 95 / 100,
		bytes * 105 / 100);
	assert_true(node_usage_find_excess(&excess, usage, 1));
	assert_int_equal(excess.node, GREEDY);
	node_usage_restart(usage);
	assert_in_range(count_all(usage), 80, 90);
	node_usage_free(usage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(few_rows_are_all_counted),
		fixture_test(of_many_rows_some_slots_count_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
