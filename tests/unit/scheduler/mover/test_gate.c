#include "scheduler/mover/gate.h"

#include "tests/unit/scheduler/given.h"

static struct windows always;

/* A gate that is open. */
static struct gate given_gate(void)
{
	assert_int_equal(windows_parse(&always, "", NULL), 0);
	return (struct gate){ .mode = MOVER_AUTOMATIC,
		.is_synced = true,
		.leads = true,
		.not_watching = "",
		.not_ordering = "",
		.has_history = true,
		.windows = &always,
		.wall_us = UINT64_C(1800000000000000),
		.budget = { .per_cluster = 5 } };
}

static void assert_refuses(const struct gate *gate, const char *sentence)
{
	scoped_buffer struct buffer why = BUFFER_MAX(1024);

	assert_false(gate_is_open(gate, &why));
	assert_string_equal(why.data, sentence);
}

static void an_open_gate_says_nothing(void **state)
{
	scoped_buffer struct buffer why = BUFFER_MAX(1024);
	struct gate gate = given_gate();

	(void)state;
	assert_true(gate_is_open(&gate, &why));
	assert_int_equal(why.len, 0);
	assert_false(gate_recommends_only(&gate));
}

static void the_first_reason_is_named(void **state)
{
	struct gate gate = given_gate();

	(void)state;
	gate.not_ordering = "KubeVirt is being upgraded";
	assert_refuses(&gate, "KubeVirt is being upgraded");
	assert_true(gate_recommends_only(&gate));
	gate.mode = MOVER_RECOMMEND;
	assert_refuses(&gate, "--rebalance is recommend");
	gate.not_watching = "kubevirts may not be watched";
	assert_refuses(&gate, "kubevirts may not be watched");
	gate.leads = false;
	assert_refuses(&gate, "another replica is leader");
	gate.is_synced = false;
	assert_refuses(&gate, "the caches are not synced");
}

static void the_flag_of_the_purpose_is_named(void **state)
{
	struct gate gate = given_gate();

	(void)state;
	gate.purpose = GATE_ROOM;
	gate.mode = MOVER_RECOMMEND;
	assert_refuses(&gate, "--make-room is recommend");
	gate.mode = MOVER_OFF;
	assert_refuses(&gate, "--make-room is off");
	gate.purpose = GATE_REBALANCE;
	assert_refuses(&gate, "--rebalance is off");
}

static void times_are_named(void **state)
{
	struct gate gate = given_gate();
	struct windows mondays;

	(void)state;
	/* 2027-01-15, a Friday, 08:00. */
	assert_int_equal(windows_parse(&mondays, "Mon 22:00-23:00", NULL), 0);
	gate.paused_until_us = gate.wall_us + UINT64_C(600000000);
	gate.failures = 3;
	assert_refuses(&gate,
		"3 moves in a row failed, and moves are paused until "
		"2027-01-15T08:10:00Z");
	assert_false(gate_recommends_only(&gate));
	gate.windows = &mondays;
	assert_refuses(&gate,
		"it is outside --rebalance-windows, the next of which begins "
		"at 2027-01-18T22:00Z");
}

static void budgets_come_last(void **state)
{
	struct gate gate = given_gate();

	(void)state;
	gate.budget.unfinished = 4;
	assert_refuses(&gate,
		"4 migrations are unfinished, and moves stay below KubeVirt's "
		"limit of 5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_open_gate_says_nothing),
		cmocka_unit_test(the_first_reason_is_named),
		cmocka_unit_test(the_flag_of_the_purpose_is_named),
		cmocka_unit_test(times_are_named),
		cmocka_unit_test(budgets_come_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
