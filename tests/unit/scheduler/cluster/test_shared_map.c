#include "scheduler/cluster/shared_map.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdio.h>
#include <stdlib.h>

enum { ENTRIES = 1000 };

static void *share(void *value)
{
	return xmemdup(value, sizeof(int));
}

static void drop(void *value, struct interner *interner)
{
	(void)interner;
	free(value);
}

static const struct shared_values values = { share, drop };

static void put(struct map *map, int from, int to)
{
	char key[16];

	for (int i = from; i < to; i++) {
		(void)snprintf(key, sizeof(key), "%d", i);
		free(map_put(map, key, xmemdup(&i, sizeof(i))));
	}
}

static void assert_has(const struct map *map, int from, int to)
{
	char key[16];

	for (int i = from; i < to; i++) {
		const int *value;

		(void)snprintf(key, sizeof(key), "%d", i);
		value = map_get(map, key);
		assert_non_null(value);
		assert_int_equal(*value, i);
	}
}

static bool copy_some(struct map *out, const struct map *from,
	struct map_walk *walk)
{
	return shared_map_copy(out, from, walk, &values, NULL);
}

static void free_both(struct map *a, struct map *b)
{
	shared_map_fini(a, &values, NULL);
	shared_map_fini(b, &values, NULL);
}

static void copies_every_entry_in_steps(void **state)
{
	struct map from = { 0 }, out = { 0 };
	struct map_walk walk = { 0 };
	size_t at = 0;

	(void)state;
	put(&from, 0, ENTRIES);
	for (size_t i = 1; copy_some(&out, &from, &walk); i++) {
		assert_int_equal(out.count, i * SHARED_MAP_STEP);
	}
	assert_int_equal(out.count, ENTRIES);
	assert_has(&out, 0, ENTRIES);
	while (shared_map_free(&out, &at, &values, NULL)) {
	}
	assert_null(out.slots);
	free_both(&from, &out);
}

static void a_map_that_grows_is_still_copied_whole(void **state)
{
	struct map from = { 0 }, out = { 0 };
	struct map_walk walk = { 0 };

	(void)state;
	put(&from, 0, ENTRIES);
	assert_true(copy_some(&out, &from, &walk));
	assert_true(copy_some(&out, &from, &walk));
	put(&from, ENTRIES, 9 * ENTRIES);
	while (copy_some(&out, &from, &walk)) {
	}
	assert_int_equal(walk.restarts, 1);
	assert_int_equal(out.count, from.count);
	assert_has(&out, 0, 9 * ENTRIES);
	free_both(&from, &out);
}

static void a_map_that_always_grows_ends_the_walk(void **state)
{
	struct map from = { 0 }, out = { 0 };
	struct map_walk walk = { 0 };
	int count = ENTRIES;

	(void)state;
	put(&from, 0, count);
	while (copy_some(&out, &from, &walk)) {
		if (count < 100 * ENTRIES) {
			put(&from, count, 5 * count);
			count *= 5;
		}
	}
	assert_int_equal(walk.restarts, SHARED_MAP_RESTARTS);
	assert_true(out.count <= from.count);
	free_both(&from, &out);
}

static void a_map_that_shrinks_ends_the_walk(void **state)
{
	struct map from = { 0 }, out = { 0 }, small = { 0 };
	struct map_walk walk = { .restarts = SHARED_MAP_RESTARTS };

	(void)state;
	put(&from, 0, ENTRIES);
	put(&small, 0, 3);
	for (int i = 0; i < 4; i++) {
		assert_true(copy_some(&out, &from, &walk));
	}
	assert_false(copy_some(&out, &small, &walk));
	free_both(&from, &out);
	free_both(&small, &out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_every_entry_in_steps),
		cmocka_unit_test(a_map_that_grows_is_still_copied_whole),
		cmocka_unit_test(a_map_that_always_grows_ends_the_walk),
		cmocka_unit_test(a_map_that_shrinks_ends_the_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
