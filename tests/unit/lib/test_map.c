#include "lib/map.h"

#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 300 };

/* The expected content of a map of KEYS keys, without hashing. */
struct model {
	void *values[KEYS]; /* NULL: not in the map */
	size_t count;
};

static const char *key_name(char *out, size_t size, size_t key)
{
	(void)snprintf(out, size, "node-%zu", key);
	return out;
}

static void step(struct map *map, struct model *model, uint64_t *seed)
{
	static char targets[KEYS];
	uint64_t dice = random_next(seed);
	size_t key = (size_t)(random_next(seed) % KEYS);
	void *value = &targets[random_next(seed) % KEYS];
	void *before = model->values[key];
	char name[32];

	key_name(name, sizeof(name), key);
	assert_ptr_equal(map_get(map, name), before);
	if (dice % 2 == 0) {
		assert_ptr_equal(map_put(map, name, value), before);
		model->values[key] = value;
		model->count += before == NULL;
	} else {
		assert_ptr_equal(map_remove(map, name), before);
		model->values[key] = NULL;
		model->count -= before != NULL;
	}
	assert_ptr_equal(map_get(map, name), model->values[key]);
	assert_int_equal(map->count, model->count);
}

/* Each entry appears exactly once, with its own key. */
static void check_all(const struct map *map, const struct model *model)
{
	bool seen[KEYS] = { false };
	size_t found = 0;
	size_t at = 0;
	const char *name;
	void *value;

	while (map_next(map, &at, &name, &value)) {
		size_t key = strtoul(name + strlen("node-"), NULL, 10);

		assert_true(key < KEYS);
		assert_false(seen[key]);
		assert_ptr_equal(value, model->values[key]);
		seen[key] = true;
		found++;
	}
	assert_int_equal(found, model->count);
}

static void random_operations_agree_with_a_simple_model(void **state)
{
	struct model model = { 0 };
	struct map map = { 0 };
	uint64_t seed = 20260102;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		step(&map, &model, &seed);
		if (i % 500 == 0) {
			check_all(&map, &model);
		}
	}
	check_all(&map, &model);
	map_fini(&map);
}

static void add_keys(struct map *map, void *value)
{
	char name[32];

	for (size_t i = 0; i < KEYS; i++) {
		assert_null(
			map_put(map, key_name(name, sizeof(name), i), value));
	}
}

/* Or else the searches of other keys would walk over its tombstones. The slot
 * behind that of some of these keys is free, and that of others is not. */
static void a_key_that_comes_and_goes_takes_no_more_slots(void **state)
{
	char guest[32];
	int value = 1;

	(void)state;
	for (size_t i = 0; i < 50; i++) {
		struct map map = { 0 };

		add_keys(&map, &value);
		(void)snprintf(guest, sizeof(guest), "guest-%zu", i);
		for (size_t j = 0; j < 3; j++) {
			assert_null(map_put(&map, guest, &value));
			assert_int_equal(map.used, KEYS + 1);
			assert_ptr_equal(map_remove(&map, guest), &value);
		}
		map_fini(&map);
	}
}

static void a_map_that_was_emptied_has_no_tombstones(void **state)
{
	struct map map = { 0 };
	char name[32];
	int value = 1;

	(void)state;
	add_keys(&map, &value);
	for (size_t i = 0; i < KEYS; i++) {
		assert_ptr_equal(
			map_remove(&map, key_name(name, sizeof(name), i)),
			&value);
	}
	assert_int_equal(map.used, 0);
	map_fini(&map);
}

static void keys_are_copied_and_values_are_not(void **state)
{
	struct map map = { 0 };
	char key[] = "alpha";
	int one = 1;
	int two = 2;

	(void)state;
	assert_null(map_put(&map, key, &one));
	key[0] = 'x';
	assert_null(map_get(&map, key));
	assert_ptr_equal(map_get(&map, "alpha"), &one);
	assert_ptr_equal(map_put(&map, "alpha", &two), &one);
	assert_int_equal(map.count, 1);
	assert_ptr_equal(map_remove(&map, "alpha"), &two);
	assert_null(map_remove(&map, "alpha"));
	map_fini(&map);
}

static void works_when_empty(void **state)
{
	struct map map = { 0 };
	size_t at = 0;
	void *value;

	(void)state;
	assert_null(map_get(&map, "x"));
	assert_null(map_remove(&map, "x"));
	assert_false(map_next(&map, &at, NULL, &value));
	map_fini(&map);
	map_fini(NULL);
	assert_null(map_put(&map, "", &map));
	assert_ptr_equal(map_get(&map, ""), &map);
	map_fini(&map);
	assert_null(map_get(&map, ""));
}

/* Pods come and go for months, so tombstones must not accumulate. */
static void does_not_grow_when_keys_come_and_go(void **state)
{
	struct map map = { 0 };
	char name[32];

	(void)state;
	for (size_t i = 0; i < 20000; i++) {
		(void)map_put(&map, key_name(name, sizeof(name), i), &map);
		if (i >= 4) {
			key_name(name, sizeof(name), i - 4);
			assert_ptr_equal(map_remove(&map, name), &map);
		}
		assert_true(map.used >= map.count);
		assert_true(map.used * 2 <= map.capacity);
	}
	assert_int_equal(map.count, 4);
	assert_true(map.capacity <= 64);
	for (size_t i = 19996; i < 20000; i++) {
		key_name(name, sizeof(name), i);
		assert_ptr_equal(map_get(&map, name), &map);
	}
	map_fini(&map);
}

static void finds_keys_behind_a_removed_one(void **state)
{
	struct map map = { 0 };
	char name[32];

	(void)state;
	/* Eight keys in sixteen slots: some collide. */
	for (size_t removed = 0; removed < 8; removed++) {
		for (size_t i = 0; i < 8; i++) {
			key_name(name, sizeof(name), i);
			(void)map_put(&map, name, &map);
		}
		(void)map_remove(&map, key_name(name, sizeof(name), removed));
		for (size_t i = 0; i < 8; i++) {
			key_name(name, sizeof(name), i);
			assert_ptr_equal(map_get(&map, name),
				i == removed ? NULL : &map);
		}
		map_fini(&map);
	}
}

static void reserved_entries_do_not_move(void **state)
{
	struct map map = { 0 };
	const struct map_slot *slots;
	char name[32];

	(void)state;
	(void)map_put(&map, "a", &map);
	map_reserve(&map, 1000);
	slots = map.slots;
	for (size_t i = 0; i < 999; i++) {
		(void)map_put(&map, key_name(name, sizeof(name), i), &map);
	}
	map_reserve(&map, 10);
	assert_ptr_equal(map.slots, slots);
	assert_ptr_equal(map_get(&map, "a"), &map);
	map_fini(&map);
}

static void the_current_entry_may_be_removed(void **state)
{
	struct map map = { 0 };
	char name[32];
	size_t seen = 0;
	size_t at = 0;
	const char *key;
	void *value;

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		key_name(name, sizeof(name), i);
		(void)map_put(&map, name, i % 2 == 0 ? (void *)&map : name);
	}
	while (map_next(&map, &at, &key, &value)) {
		seen++;
		if (value == &map) {
			scoped_free char *copy = xstrdup(key);

			assert_ptr_equal(map_remove(&map, copy), &map);
		}
	}
	assert_int_equal(seen, 1000);
	assert_int_equal(map.count, 500);
	for (size_t i = 0; i < 1000; i++) {
		assert_ptr_equal(
			map_get(&map, key_name((char[32]){ 0 }, 32, i)),
			i % 2 == 0 ? NULL : name);
	}
	at = 0;
	while (map_next(&map, &at, NULL, &value)) {
		seen--;
	}
	assert_int_equal(seen, 500);
	map_fini(&map);
}

/* The first value is freed when the second one has taken its place. */
static void a_borrowed_key_is_that_of_the_last_value(void **state)
{
	struct map map = { .borrows_keys = true };
	char *first = xstrdup("key"), *second = xstrdup("key");
	const char *key = NULL;
	void *value = NULL;
	size_t at = 0;

	(void)state;
	assert_null(map_put(&map, first, first));
	assert_ptr_equal(map_put(&map, second, second), first);
	free(first);
	assert_ptr_equal(map_get(&map, "key"), second);
	assert_true(map_next(&map, &at, &key, &value));
	assert_ptr_equal(key, second);
	map_reserve(&map, 100);
	assert_ptr_equal(map_remove(&map, "key"), second);
	assert_null(map_get(&map, "key"));
	free(second);
	map_fini(&map);
}

static void borrowed_keys_outlive_their_map(void **state)
{
	struct map map = { .borrows_keys = true };
	char key[] = "key";

	(void)state;
	assert_null(map_put(&map, key, key));
	map_fini(&map);
	assert_string_equal(key, "key");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_operations_agree_with_a_simple_model),
		cmocka_unit_test(a_key_that_comes_and_goes_takes_no_more_slots),
		cmocka_unit_test(a_map_that_was_emptied_has_no_tombstones),
		cmocka_unit_test(keys_are_copied_and_values_are_not),
		cmocka_unit_test(works_when_empty),
		cmocka_unit_test(does_not_grow_when_keys_come_and_go),
		cmocka_unit_test(finds_keys_behind_a_removed_one),
		cmocka_unit_test(reserved_entries_do_not_move),
		cmocka_unit_test(the_current_entry_may_be_removed),
		cmocka_unit_test(a_borrowed_key_is_that_of_the_last_value),
		cmocka_unit_test(borrowed_keys_outlive_their_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
