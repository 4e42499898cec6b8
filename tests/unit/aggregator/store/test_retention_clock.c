#include "aggregator/store/retention_clock.h"

#include "tests/support/cm.h"

static const uint64_t day_ms = 86400000;
static const uint64_t start_ms = UINT64_C(1790000000000);
static const uint64_t step_us = 5000000;

/* A machine whose reports are stored with its wall clock's time. */
struct machine {
	struct retention_clock clock;
	uint64_t monotonic_us;
	int64_t ahead_ms; /* of the true time */
	bool is_silent;	  /* no reports are stored */
	uint64_t newest_ms;
	int64_t jumps_ms;
};

static uint64_t true_ms(const struct machine *m)
{
	return start_ms + m->monotonic_us / 1000;
}

static uint64_t wall_ms(const struct machine *m)
{
	return (uint64_t)((int64_t)true_ms(m) + m->ahead_ms);
}

static void run(struct machine *m, uint64_t seconds)
{
	for (uint64_t us = 0; us < seconds * 1000000; us += step_us) {
		m->monotonic_us += step_us;
		m->newest_ms = m->is_silent ? m->newest_ms : wall_ms(m);
		m->jumps_ms += retention_clock_read(&m->clock,
			&(struct retention_reading){ m->monotonic_us,
				wall_ms(m),
				m->newest_ms <= wall_ms(m) ? m->newest_ms
							   : 0 });
	}
}

static struct machine machine_at(uint64_t reached_ms)
{
	return (struct machine){ .clock = retention_clock_at(reached_ms),
		.monotonic_us = 1000000000 };
}

static void deletes_nothing_until_the_clock_has_agreed_for_ten_minutes(
	void **state)
{
	struct machine m = machine_at(start_ms);

	(void)state;
	run(&m, 600);
	assert_true(m.clock.now_ms == 0);
	run(&m, 5);
	assert_true(m.clock.now_ms != 0);
	assert_true(m.clock.now_ms <= wall_ms(&m));
	assert_true(m.jumps_ms == 0);
}

static void follows_the_newest_report(void **state)
{
	struct machine m = machine_at(start_ms);

	(void)state;
	run(&m, 3600);
	assert_true(m.clock.now_ms == m.newest_ms);
	m.is_silent = true;
	run(&m, 3600);
	assert_true(m.clock.now_ms == 0);
	assert_true(m.clock.reached_ms == m.newest_ms);
}

static void starts_at_the_newest_report_in_a_new_database(void **state)
{
	struct machine m = machine_at(0);

	(void)state;
	run(&m, 605);
	assert_true(m.clock.now_ms == m.newest_ms);
}

static void a_jump_is_told_once_and_begins_the_wait_again(void **state)
{
	struct machine m = machine_at(start_ms);

	(void)state;
	run(&m, 3600);
	m.ahead_ms = 800 * (int64_t)day_ms;
	run(&m, 30);
	assert_true(m.jumps_ms == m.ahead_ms);
	assert_true(m.clock.now_ms == 0);
	m.ahead_ms = 0;
	run(&m, 5);
	assert_true(m.jumps_ms == 0); /* there and back */
	run(&m, 595);
	assert_true(m.clock.now_ms == 0);
	/* The reports of those seconds are not after the wall clock. */
	m.newest_ms = true_ms(&m);
	run(&m, 10);
	assert_true(m.clock.now_ms != 0 && m.clock.now_ms <= true_ms(&m));
}

static void a_clock_that_stays_ahead_gains_no_more_than_its_time(void **state)
{
	struct machine m = machine_at(start_ms);

	(void)state;
	run(&m, 3600);
	m.ahead_ms = 800 * (int64_t)day_ms;
	run(&m, 7200);
	assert_true(m.clock.now_ms > true_ms(&m) - 3600000);
	assert_true(m.clock.now_ms <= true_ms(&m) + 7200000);
}

static void a_restart_with_a_clock_ahead_gains_no_more(void **state)
{
	struct machine m = machine_at(start_ms);

	(void)state;
	m.ahead_ms = 800 * (int64_t)day_ms;
	run(&m, 7200);
	assert_true(m.clock.now_ms <= true_ms(&m) + 7200000);
}

static void a_clock_that_is_behind_deletes_nothing_new(void **state)
{
	struct machine m = machine_at(start_ms + 1000000);

	(void)state;
	run(&m, 3600);
	m.ahead_ms = -30 * (int64_t)day_ms;
	run(&m, 3600);
	assert_true(m.clock.now_ms <= wall_ms(&m));
	m.ahead_ms = 0;
	run(&m, 3600);
	assert_true(m.clock.now_ms <= true_ms(&m));
	assert_true(m.clock.now_ms + 3600000 > true_ms(&m));
}

static void catches_up_after_a_pause(void **state)
{
	struct machine m = machine_at(start_ms - day_ms / 24);

	(void)state;
	run(&m, 3600);
	assert_true(m.clock.now_ms + 3600000 > true_ms(&m));
	assert_true(m.clock.now_ms < true_ms(&m));
	run(&m, 3600);
	assert_true(m.clock.now_ms == true_ms(&m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			deletes_nothing_until_the_clock_has_agreed_for_ten_minutes),
		cmocka_unit_test(follows_the_newest_report),
		cmocka_unit_test(starts_at_the_newest_report_in_a_new_database),
		cmocka_unit_test(a_jump_is_told_once_and_begins_the_wait_again),
		cmocka_unit_test(
			a_clock_that_stays_ahead_gains_no_more_than_its_time),
		cmocka_unit_test(a_restart_with_a_clock_ahead_gains_no_more),
		cmocka_unit_test(a_clock_that_is_behind_deletes_nothing_new),
		cmocka_unit_test(catches_up_after_a_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
