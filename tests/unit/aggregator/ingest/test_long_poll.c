#include "aggregator/ingest/long_poll.h"

#include "tests/support/cm.h"

static const struct snapshot_request current = { 42, 10 };
static char handles[LONG_POLL_MAX + 1];

static struct long_poll with_waiter(uint64_t epoch, uint64_t rev,
	uint64_t now_us)
{
	struct long_poll long_poll = { 0 };
	struct snapshot_request request = { epoch, rev };

	assert_true(long_poll_add(&long_poll, handles, &request, now_us));
	return long_poll;
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
		struct long_poll p =
			with_waiter(cases[i].epoch, cases[i].rev, start_us);
		struct waiter waiter;
		uint64_t due_us;

		assert_int_equal(long_poll_wait_us(&p, &current, start_us),
			cases[i].wait_us);
		due_us = start_us + cases[i].wait_us;
		assert_false(
			long_poll_take_due(&waiter, &p, &current, due_us - 1));
		assert_true(long_poll_take_due(&waiter, &p, &current, due_us));
		assert_ptr_equal(waiter.handle, handles);
		assert_int_equal(waiter.request.rev, cases[i].rev);
		assert_int_equal(p.count, 0);
	}
}

static void a_change_makes_an_up_to_date_waiter_due(void **state)
{
	struct long_poll p = with_waiter(42, 10, 0);
	const struct snapshot_request changed = { 42, 11 };
	struct waiter waiter;

	(void)state;
	assert_false(long_poll_take_due(&waiter, &p, &current, 5000000));
	assert_int_equal(long_poll_wait_us(&p, &changed, 5000000), 0);
	assert_true(long_poll_take_due(&waiter, &p, &changed, 5000000));
}

static void without_waiters_nothing_is_due(void **state)
{
	struct long_poll p = { 0 };
	struct waiter waiter;

	(void)state;
	assert_int_equal(long_poll_wait_us(&p, &current, 7), UINT64_MAX);
	assert_false(long_poll_take_due(&waiter, &p, &current, UINT64_MAX));
}

static void limits_the_number_of_waiters(void **state)
{
	const struct snapshot_request request = { 42, 10 };
	struct long_poll p = { 0 };
	struct waiter waiter;
	bool seen[LONG_POLL_MAX] = { false };

	(void)state;
	for (size_t i = 0; i < LONG_POLL_MAX; i++) {
		assert_true(long_poll_add(&p, &handles[i], &request, i));
	}
	assert_false(long_poll_add(&p, &handles[LONG_POLL_MAX], &request, 0));
	while (long_poll_take_due(&waiter, &p, &current,
		LONG_POLL_HOLD_US + 99)) {
		size_t which = (size_t)((char *)waiter.handle - handles);

		assert_false(seen[which]);
		seen[which] = true;
	}
	for (size_t i = 0; i < LONG_POLL_MAX; i++) {
		assert_true(seen[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_waiter_is_due_by_its_epoch_and_revision),
		cmocka_unit_test(a_change_makes_an_up_to_date_waiter_due),
		cmocka_unit_test(without_waiters_nothing_is_due),
		cmocka_unit_test(limits_the_number_of_waiters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
