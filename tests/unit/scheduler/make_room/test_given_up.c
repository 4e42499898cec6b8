#include "scheduler/make_room/given_up.h"

#include "tests/support/cm.h"

#include <stdio.h>

static void add(struct given_up *given_up, unsigned number, int64_t until_us)
{
	struct given_up_pod pod = { .until_us = until_us };

	(void)snprintf(pod.uid, sizeof(pod.uid), "uid-%u", number);
	given_up_add(given_up, &pod);
}

static void a_pod_rests_until_its_time(void **state)
{
	struct given_up given_up = { 0 };
	(void)state;

	add(&given_up, 1, 200);
	add(&given_up, 2, 100);
	assert_non_null(given_up_find(&given_up, "uid-2", 99));
	assert_null(given_up_find(&given_up, "uid-2", 100));
	assert_non_null(given_up_find(&given_up, "uid-1", 100));
	assert_int_equal(given_up.count, 1);
	given_up_fini(&given_up);
}

static void a_pod_rests_once(void **state)
{
	struct given_up given_up = { 0 };
	(void)state;

	add(&given_up, 1, 100);
	add(&given_up, 1, 300);
	assert_int_equal(given_up.count, 1);
	assert_non_null(given_up_find(&given_up, "uid-1", 200));
	given_up_remove(&given_up, "uid-1");
	assert_null(given_up_find(&given_up, "uid-1", 200));
	given_up_fini(&given_up);
}

static void the_oldest_of_too_many_is_forgotten(void **state)
{
	struct given_up given_up = { 0 };
	(void)state;

	for (unsigned i = 0; i <= MAKE_ROOM_REMEMBERED_MAX; i++) {
		add(&given_up, i, 1000 + i);
	}
	assert_int_equal(given_up.count, MAKE_ROOM_REMEMBERED_MAX);
	assert_null(given_up_find(&given_up, "uid-0", 0));
	assert_non_null(given_up_find(&given_up, "uid-1", 0));
	given_up_fini(&given_up);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_rests_until_its_time),
		cmocka_unit_test(a_pod_rests_once),
		cmocka_unit_test(the_oldest_of_too_many_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
