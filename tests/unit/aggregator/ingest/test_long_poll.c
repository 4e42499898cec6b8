#include "aggregator/ingest/long_poll.h"

#include "tests/support/cm.h"

static const struct snapshot_request current = { 42, 10 };
static char handles[LONG_POLL_MAX + 1];

static void init_with_waiter(struct long_poll *p, uint64_t epoch, uint64_t rev,
	uint64_t now_us)
{
	const struct waiter waiter = { handles, { epoch, rev }, now_us, 1, 1 };
	struct waiter displaced;

	long_poll_init(p);
	assert_false(long_poll_add(p, &waiter, &displaced));
}

/* A waiter that came at 1 s, checked by a fake clock. */
static void a_waiter_is_due_by_its_epoch_and_revision(void **state)
{
	static const struct {
		const char *what;
		uint64_t epoch, rev, wait_us;
	} cases[] = {
		{ "is new", 0, 0, 0 },
		{ "is of another epoch", 41, 99, 0 },
		{ "is behind", 42, 9, LONG_POLL_COALESCE_US },
		{ "is up to date", 42, 10, LONG_POLL_HOLD_US },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t start_us = 1000000;
		struct long_poll p;
		struct waiter waiter;
		uint64_t due_us;

		init_with_waiter(&p, cases[i].epoch, cases[i].rev, start_us);
		assert_int_equal(long_poll_wait_us(&p, &current, start_us),
			cases[i].wait_us);
		due_us = start_us + cases[i].wait_us;
		assert_false(
			long_poll_take_due(&waiter, &p, &current, due_us - 1));
		assert_true(long_poll_take_due(&waiter, &p, &current, due_us));
		assert_ptr_equal(waiter.handle, handles);
		assert_int_equal(waiter.request.rev, cases[i].rev);
		assert_int_equal(p.count, 0);
		long_poll_fini(&p);
	}
}

static void a_change_makes_an_up_to_date_waiter_due(void **state)
{
	struct long_poll p;
	const struct snapshot_request changed = { 42, 11 };
	struct waiter waiter;

	(void)state;
	init_with_waiter(&p, 42, 10, 0);
	assert_false(long_poll_take_due(&waiter, &p, &current, 5000000));
	assert_int_equal(long_poll_wait_us(&p, &changed, 5000000), 0);
	assert_true(long_poll_take_due(&waiter, &p, &changed, 5000000));
	long_poll_fini(&p);
}

static void without_waiters_nothing_is_due(void **state)
{
	struct long_poll p;
	struct waiter waiter;

	(void)state;
	long_poll_init(&p);
	assert_int_equal(long_poll_wait_us(&p, &current, 7), UINT64_MAX);
	assert_false(long_poll_take_due(&waiter, &p, &current, UINT64_MAX));
	long_poll_fini(&p);
}

/* Adds a waiter that is up to date; returns the displaced one's handle, or
 * NULL. */
static void *add(struct long_poll *p, size_t handle, uint32_t pipe,
	uint64_t peer)
{
	const struct waiter waiter = { &handles[handle], current, handle, pipe,
		peer };
	struct waiter displaced = { 0 };

	return long_poll_add(p, &waiter, &displaced) ? displaced.handle : NULL;
}

static void every_waiter_is_taken_once(void **state)
{
	struct long_poll p;
	struct waiter waiter;
	bool seen[LONG_POLL_MAX] = { false };

	(void)state;
	long_poll_init(&p);
	for (uint32_t i = 0; i < LONG_POLL_MAX; i++) {
		assert_null(add(&p, i, i, i));
	}
	while (long_poll_take_due(&waiter, &p, &current,
		LONG_POLL_HOLD_US + 99)) {
		size_t which = (size_t)((char *)waiter.handle - handles);

		assert_false(seen[which]);
		seen[which] = true;
	}
	for (size_t i = 0; i < LONG_POLL_MAX; i++) {
		assert_true(seen[i]);
	}
	long_poll_fini(&p);
}

static void a_connection_has_one_seat(void **state)
{
	struct long_poll p;

	(void)state;
	long_poll_init(&p);
	assert_null(add(&p, 0, 7, 1));
	assert_null(add(&p, 1, 8, 1));
	assert_ptr_equal(add(&p, 2, 7, 1), &handles[0]);
	assert_int_equal(p.count, 2);
	long_poll_fini(&p);
}

/* Schedulers 1 and 2 wait for longest, but the other peer has all the rest. */
static void the_peer_with_most_seats_gives_way(void **state)
{
	struct long_poll p;

	(void)state;
	long_poll_init(&p);
	assert_null(add(&p, 0, 0, 1));
	assert_null(add(&p, 1, 1, 2));
	for (uint32_t i = 2; i < LONG_POLL_MAX; i++) {
		assert_null(add(&p, i, i, 666));
	}
	for (uint32_t i = 0; i < 100; i++) {
		char *gone = add(&p, LONG_POLL_MAX, 1000 + i, 666);

		assert_true(gone != &handles[0] && gone != &handles[1]);
	}
	assert_non_null(add(&p, LONG_POLL_MAX, 2000, 3));
	assert_int_equal(p.count, LONG_POLL_MAX);
	assert_ptr_equal(p.waiters[0].handle, &handles[0]);
	assert_ptr_equal(p.waiters[1].handle, &handles[1]);
	long_poll_fini(&p);
}

static void among_equal_peers_the_longest_waiting_gives_way(void **state)
{
	struct long_poll p;

	(void)state;
	long_poll_init(&p);
	for (uint32_t i = 0; i < LONG_POLL_MAX; i++) {
		assert_null(add(&p, i, i, i));
	}
	assert_ptr_equal(add(&p, LONG_POLL_MAX, 1000, 1000), &handles[0]);
	long_poll_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_waiter_is_due_by_its_epoch_and_revision),
		cmocka_unit_test(a_change_makes_an_up_to_date_waiter_due),
		cmocka_unit_test(without_waiters_nothing_is_due),
		cmocka_unit_test(every_waiter_is_taken_once),
		cmocka_unit_test(a_connection_has_one_seat),
		cmocka_unit_test(the_peer_with_most_seats_gives_way),
		cmocka_unit_test(
			among_equal_peers_the_longest_waiting_gives_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
