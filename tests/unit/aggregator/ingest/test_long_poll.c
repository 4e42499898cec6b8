#include "aggregator/ingest/long_poll.h"

#include "tests/support/cm.h"

static const struct snapshot_request present = { 42, 10 };
static char request[PARKING_MAX + 1];

static struct parking parked(uint64_t epoch, uint64_t rev, uint64_t now_us)
{
	struct parking parking = { 0 };
	struct snapshot_request asked = { epoch, rev };

	assert_true(parking_add(&parking, request, &asked, now_us));
	return parking;
}

/* When a waiter that came at 1 s is due, found with a clock of our own. */
static void answers_when_it_should(void **state)
{
	static const struct {
		const char *what;
		uint64_t epoch, rev, wait_us;
	} cases[] = {
		{ "begins", 0, 0, 0 },
		{ "knew another process", 41, 99, 0 },
		{ "is behind", 42, 9, PARKING_COALESCE_US },
		{ "is up to date", 42, 10, PARKING_HOLD_US },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t start_us = 1000000;
		struct parking p =
			parked(cases[i].epoch, cases[i].rev, start_us);
		struct waiter waiter;
		uint64_t due_us;

		assert_int_equal(parking_wait_us(&p, &present, start_us),
			cases[i].wait_us);
		due_us = start_us + cases[i].wait_us;
		assert_false(
			parking_take_due(&waiter, &p, &present, due_us - 1));
		assert_true(parking_take_due(&waiter, &p, &present, due_us));
		assert_ptr_equal(waiter.request, request);
		assert_int_equal(waiter.asked.rev, cases[i].rev);
		assert_int_equal(p.count, 0);
	}
}

static void a_change_wakes_who_was_up_to_date(void **state)
{
	struct parking p = parked(42, 10, 0);
	const struct snapshot_request changed = { 42, 11 };
	struct waiter waiter;

	(void)state;
	assert_false(parking_take_due(&waiter, &p, &present, 5000000));
	assert_int_equal(parking_wait_us(&p, &changed, 5000000), 0);
	assert_true(parking_take_due(&waiter, &p, &changed, 5000000));
}

static void nobody_waits_forever_for_nothing(void **state)
{
	struct parking p = { 0 };
	struct waiter waiter;

	(void)state;
	assert_int_equal(parking_wait_us(&p, &present, 7), UINT64_MAX);
	assert_false(parking_take_due(&waiter, &p, &present, UINT64_MAX));
}

static void has_a_limit(void **state)
{
	const struct snapshot_request asked = { 42, 10 };
	struct parking p = { 0 };
	struct waiter waiter;
	bool seen[PARKING_MAX] = { false };

	(void)state;
	for (size_t i = 0; i < PARKING_MAX; i++) {
		assert_true(parking_add(&p, &request[i], &asked, i));
	}
	assert_false(parking_add(&p, &request[PARKING_MAX], &asked, 0));
	while (parking_take_due(&waiter, &p, &present, PARKING_HOLD_US + 99)) {
		size_t which = (size_t)((char *)waiter.request - request);

		assert_false(seen[which]);
		seen[which] = true;
	}
	for (size_t i = 0; i < PARKING_MAX; i++) {
		assert_true(seen[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_when_it_should),
		cmocka_unit_test(a_change_wakes_who_was_up_to_date),
		cmocka_unit_test(nobody_waits_forever_for_nothing),
		cmocka_unit_test(has_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
