#include "scheduler/rebalance/move_pauses.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdio.h>
#include <string.h>

#define MINUTE_US UINT64_C(60000000)
#define NOW_US UINT64_C(1800000000000000)

static struct {
	struct move_records records;
	struct move_pauses pauses;
	unsigned number;
} world;

static int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	move_pauses_fini(&world.pauses);
	move_records_fini(&world.records);
	return 0;
}

/* Puts a move that ended in this minute. */
static void put(const char *namespace, enum move_state state, unsigned minute)
{
	struct move_record record = { .revision = 1,
		.state = state,
		.ended_us = NOW_US + minute * MINUTE_US };

	(void)snprintf(record.id, sizeof(record.id), "m%u", world.number++);
	(void)snprintf(record.namespace, sizeof(record.namespace), "%s",
		namespace);
	(void)snprintf(record.vm, sizeof(record.vm), "v%u", world.number);
	(void)move_records_put(&world.records, &record);
	move_pauses_fini(&world.pauses);
	move_pauses_init(&world.pauses, &world.records);
}

static void assert_pause(struct move_pause pause, unsigned failures,
	unsigned minute)
{
	assert_int_equal(pause.failures, failures);
	assert_int_equal(pause.until_us,
		minute == 0 ? 0 : NOW_US + minute * MINUTE_US);
}

static void assert_of(const char *namespace, unsigned failures, unsigned minute)
{
	assert_pause(move_pauses_of(&world.pauses, namespace), failures,
		minute);
}

static void three_failures_in_a_row_pause_a_namespace(void **state)
{
	(void)state;
	put("tenant", MOVE_FAILED, 1);
	put("tenant", MOVE_FAILED, 5);
	assert_of("tenant", 2, 0);
	put("tenant", MOVE_FAILED, 3);
	assert_of("tenant", 3, 35);
	assert_of("other", 0, 0);
	assert_pause(world.pauses.all, 3, 0);
	put("tenant", MOVE_SUCCEEDED, 6);
	assert_of("tenant", 0, 0);
	put("tenant", MOVE_FAILED, 7);
	assert_of("tenant", 1, 0);
}

static void a_success_of_one_namespace_ends_no_pause_of_another(void **state)
{
	(void)state;
	for (unsigned i = 1; i <= 3; i++) {
		put("tenant", MOVE_FAILED, i);
	}
	put("other", MOVE_SUCCEEDED, 4);
	assert_of("tenant", 3, 33);
	assert_pause(world.pauses.all, 0, 0);
}

static void failures_in_three_namespaces_pause_all(void **state)
{
	(void)state;
	put("a", MOVE_FAILED, 1);
	put("b", MOVE_FAILED, 2);
	put("b", MOVE_FAILED, 3);
	assert_pause(world.pauses.all, 3, 0);
	put("c", MOVE_FAILED, 4);
	assert_pause(world.pauses.all, 4, 34);
	assert_of("b", 2, 0);
	put("d", MOVE_SUCCEEDED, 5);
	assert_pause(world.pauses.all, 0, 0);
	/* Those before the success do not count again. */
	put("a", MOVE_FAILED, 6);
	assert_pause(world.pauses.all, 1, 0);
}

static void lists_the_namespaces_that_are_paused_now(void **state)
{
	struct move_pause pause;
	size_t at = 0;

	(void)state;
	for (unsigned i = 1; i <= 3; i++) {
		put("early", MOVE_FAILED, i);
		put("late", MOVE_FAILED, 10 + i);
	}
	assert_string_equal(move_pauses_next(&world.pauses, &at,
				    NOW_US + 33 * MINUTE_US, &pause),
		"late");
	assert_pause(pause, 3, 43);
	assert_null(move_pauses_next(&world.pauses, &at,
		NOW_US + 33 * MINUTE_US, &pause));
}

static void moves_that_end_otherwise_pause_nothing(void **state)
{
	(void)state;
	for (unsigned i = 1; i <= 3; i++) {
		put("tenant", MOVE_WITHDRAWN, i);
		put("tenant", MOVE_RUNNING, i);
	}
	assert_of("tenant", 0, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(three_failures_in_a_row_pause_a_namespace),
		CASE(a_success_of_one_namespace_ends_no_pause_of_another),
		CASE(failures_in_three_namespaces_pause_all),
		CASE(lists_the_namespaces_that_are_paused_now),
		CASE(moves_that_end_otherwise_pause_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
