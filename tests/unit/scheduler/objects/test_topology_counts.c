#include "scheduler/objects/topology_counts.h"

#include "tests/support/cm.h"

enum { MANY = 500 };

static void a_pair_has_the_sum_of_what_was_added(void **state)
{
	struct topology_counts counts = { 0 };

	(void)state;
	assert_false(topology_counts_has(&counts, 1, 2));
	assert_int_equal(topology_counts_get(&counts, 1, 2), 0);
	topology_counts_add(&counts, 1, 2, 3);
	topology_counts_add(&counts, 1, 2, 4);
	topology_counts_add(&counts, 2, 1, -1);
	topology_counts_add(&counts, 3, 3, 0);
	assert_int_equal(topology_counts_get(&counts, 1, 2), 7);
	assert_int_equal(topology_counts_get(&counts, 2, 1), -1);
	assert_true(topology_counts_has(&counts, 3, 3));
	assert_int_equal(topology_counts_get(&counts, 3, 3), 0);
	assert_false(topology_counts_has(&counts, 1, 1));
	assert_int_equal(counts.used, 3);
	assert_int_equal(counts.nonzero, 2);
	topology_counts_add(&counts, 2, 1, 1);
	assert_int_equal(counts.nonzero, 1);
	topology_counts_fini(&counts);
	assert_null(counts.slots);
	assert_int_equal(counts.used, 0);
}

static void each_key_is_listed_once(void **state)
{
	static const uint32_t keys[] = { 7, 8, 7, 9, 8, 9, 7 };
	struct topology_counts counts = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 7; i++) {
		topology_counts_add(&counts, keys[i], i, 1);
	}
	assert_int_equal(counts.key_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(counts.keys[i], 7 + i);
	}
	topology_counts_fini(&counts);
}

static void fill(struct topology_counts *counts, uint32_t from)
{
	for (uint32_t i = 1; i <= MANY; i++) {
		topology_counts_add(counts, 1 + i % 3, from + i, i);
	}
}

static void assert_filled(const struct topology_counts *counts, uint32_t from)
{
	const struct topology_count *slot;
	int64_t sum = 0;
	size_t at = 0, seen = 0;

	for (uint32_t i = 1; i <= MANY; i++) {
		assert_int_equal(
			topology_counts_get(counts, 1 + i % 3, from + i), i);
		assert_false(topology_counts_has(counts, 4, from + i));
	}
	while ((slot = topology_counts_next(counts, &at)) != NULL) {
		seen++;
		sum += slot->count;
	}
	assert_int_equal(seen, MANY);
	assert_int_equal(sum, MANY * (MANY + 1) / 2);
}

static void any_number_of_pairs_is_counted_and_visited(void **state)
{
	struct topology_counts counts = { 0 };
	size_t at = 0;

	(void)state;
	assert_null(topology_counts_next(&counts, &at));
	fill(&counts, 0);
	assert_filled(&counts, 0);
	assert_true(counts.capacity < (size_t)3 * MANY);
	topology_counts_fini(&counts);
}

static void a_cleared_table_counts_anew_without_growing(void **state)
{
	struct topology_counts counts = { 0 };
	size_t capacity, at = 0;

	(void)state;
	topology_counts_clear(&counts);
	fill(&counts, 0);
	capacity = counts.capacity;
	topology_counts_clear(&counts);
	assert_null(topology_counts_next(&counts, &at));
	assert_false(topology_counts_has(&counts, 2, 1));
	assert_int_equal(counts.used + counts.nonzero + counts.key_count, 0);
	fill(&counts, MANY);
	assert_filled(&counts, MANY);
	assert_int_equal(counts.nonzero, MANY);
	assert_int_equal(counts.key_count, 3);
	assert_int_equal(counts.capacity, capacity);
	topology_counts_fini(&counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pair_has_the_sum_of_what_was_added),
		cmocka_unit_test(each_key_is_listed_once),
		cmocka_unit_test(any_number_of_pairs_is_counted_and_visited),
		cmocka_unit_test(a_cleared_table_counts_anew_without_growing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
