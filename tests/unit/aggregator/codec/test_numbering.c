#include "aggregator/codec/numbering.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

static int compare_numbers(const void *list, size_t a, size_t b)
{
	const uint64_t *entries = list;

	return (entries[a] > entries[b]) - (entries[a] < entries[b]);
}

static void numbers_follow_the_first_of_equal_entries(void **state)
{
	const uint64_t entries[] = { 9, 9, 4, 9, 7, 4, 4, 1 };
	const uint64_t expected[] = { 0, 0, 1, 0, 2, 1, 1, 3 };
	uint64_t numbers[8];
	struct numbering numbering;

	(void)state;
	numbering_init(&numbering, numbers, entries, 8, compare_numbers);
	assert_memory_equal(numbers, expected, sizeof(expected));
	assert_int_equal(numbering.count, 4);
	assert_int_equal(numbering.firsts[0], 0);
	assert_int_equal(numbering.firsts[1], 2);
	assert_int_equal(numbering.firsts[2], 4);
	assert_int_equal(numbering.firsts[3], 7);
	numbering_fini(&numbering);
}

/* Comparisons for a list whose entries repeat after `apart`. */
static size_t steps_of(size_t count, size_t apart)
{
	scoped_free uint64_t *entries = xcalloc(count, sizeof(*entries));
	scoped_free uint64_t *numbers = xcalloc(count, sizeof(*numbers));
	struct numbering numbering;

	for (size_t i = 0; i < count; i++) {
		entries[i] = (i % apart) * UINT64_C(0x9e3779b97f4a7c15);
	}
	numbering_init(&numbering, numbers, entries, count, compare_numbers);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(numbers[i], i % apart);
	}
	numbering_fini(&numbering);
	return numbering.steps;
}

static void different_entries_cost_few_comparisons(void **state)
{
	(void)state;
	assert_in_range(steps_of(8192, 8192), 1, 8192 * 16);
	assert_in_range(steps_of(8192, 4096), 1, 8192 * 16);
	assert_in_range(steps_of(8192, 2), 1, 8192 * 16);
}

static void equal_entries_cost_one_comparison_each(void **state)
{
	(void)state;
	assert_in_range(steps_of(8192, 1), 1, 8192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_follow_the_first_of_equal_entries),
		cmocka_unit_test(different_entries_cost_few_comparisons),
		cmocka_unit_test(equal_entries_cost_one_comparison_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
