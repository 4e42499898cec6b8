#include "kubectl/migrations.h"

#include "tests/unit/kubectl/given_migrations.h"

#include <errno.h>
#include <stdlib.h>

/* ---- a server that does not answer ---- */

enum { MINUTE_S = 60, TWO_MINUTES_S = 120, FLEET = 20, FLEET_MISSES = 1200 };

static const struct exchange no_answer = { .call = LOOK("m"),
	.complaint = "no\n",
	.status = 1 };

static void a_silent_server_is_asked_for_a_minute(void **state)
{
	struct exchange calls[MINUTE_S + 1];
	struct error err;

	(void)state;
	for (size_t i = 0; i < count_of(calls); i++) {
		calls[i] = no_answer;
	}
	add("x", NULL, NAME "m");
	given(calls);
	assert_int_equal(run(&err), -EREMOTEIO);
	assert_int_equal(plugin.waits, MINUTE_S);
	assert_complaint("no\n");
	assert_states(0, 1, 0, 0);
}

static void an_answer_begins_the_minute_anew(void **state)
{
	struct exchange calls[TWO_MINUTES_S + 1];
	struct error err;

	(void)state;
	for (size_t i = 0; i < count_of(calls); i++) {
		calls[i] = no_answer;
	}
	calls[MINUTE_S] =
		(struct exchange){ .call = LOOK("m"), .out = PHASE("Running") };
	calls[TWO_MINUTES_S] =
		(struct exchange){ .call = LOOK("m"), .out = MOVED("n2") };
	add("x", NULL, NAME "m");
	given(calls);
	assert_int_equal(run(&err), 0);
	assert_said("a/x: Running\na/x: moved to n2 after 2m\n");
}

/* The last second has answers. */
static void many_migrations_wait_for_the_server_as_long_as_one(void **state)
{
	static struct exchange calls[FLEET_MISSES + FLEET];
	struct error err;

	(void)state;
	for (size_t i = 0; i < FLEET_MISSES; i++) {
		calls[i] = no_answer;
	}
	for (size_t i = 0; i < FLEET; i++) {
		calls[FLEET_MISSES + i] = (struct exchange){ .call = LOOK("m"),
			.out = MOVED("n2") };
		add("x", NULL, NAME "m");
	}
	given(calls);
	assert_int_equal(run(&err), 0);
	assert_states(0, 0, FLEET, 0);
	buffer_clear(&plugin.said);
}

static void a_right_that_is_missing_ends_the_run_at_once(void **state)
{
	static const struct exchange calls[] = {
		{ .call = LOOK("m"), .complaint = FORBIDDEN, .status = 1 },
	};
	struct error err;

	(void)state;
	add("x", NULL, NAME "m");
	add("y", NULL, NAME "n");
	given(calls);
	assert_int_equal(run(&err), -EACCES);
	assert_states(0, 2, 0, 0);
}

/* ---- Ctrl-C ---- */

/* Two that move, one that then has arrived, one that waits. */
static void add_four(void)
{
	add("x", NULL, NAME "m");
	add("v", NULL, NAME "l");
	add("y", NULL, NAME "n");
	add("z", NULL, NULL);
	plugin.ctrl_c_wait = 1;
}

/* The look at them, and what it says. */
#define FOUR_LOOKS                                                             \
	{ .call = LOOK("m"), .out = PHASE("Running") },                        \
		{ .call = LOOK("l"), .out = MOVED("n2") },                     \
	{                                                                      \
		.call = LOOK("n"), .out = PHASE("Running")                     \
	}
#define FOUR_SAID                                                              \
	"a/x: Running\na/v: moved to n2 after 0s\na/y: Running\n"              \
	"? \nCancel 2 migrations that move now?\n"

static void ctrl_c_leaves_migrations_if_the_user_says_no(void **state)
{
	static const struct exchange calls[] = { FOUR_LOOKS };
	struct error err;

	(void)state;
	add_four();
	given(calls);
	assert_int_equal(run(&err), -EINTR);
	assert_string_equal(err.text,
		"interrupted; 2 migrations go on: kubectl get "
		"virtualmachineinstancemigrations");
	assert_said(FOUR_SAID);
	assert_states(1, 2, 1, 0);
}

static void ctrl_c_cancels_migrations_if_the_user_says_yes(void **state)
{
	static const struct exchange calls[] = {
		FOUR_LOOKS,
		{ .call = CANCEL("m"), .complaint = NOT_FOUND, .status = 1 },
		{ .call = CANCEL("n") },
	};
	struct error err;

	(void)state;
	add_four();
	plugin.says_yes = true;
	given(calls);
	assert_int_equal(run(&err), -EINTR);
	assert_string_equal(err.text, "interrupted");
	assert_said(FOUR_SAID
		"a/x: cancelled after 1s\n"
		"a/y: cancelled after 1s\n");
	assert_states(1, 0, 1, 2);
}

static void a_migration_that_cannot_be_cancelled_ends_the_cancelling(
	void **state)
{
	static const struct exchange calls[] = {
		FOUR_LOOKS,
		{ .call = CANCEL("m"), .complaint = FORBIDDEN, .status = 1 },
	};
	struct error err;

	(void)state;
	add_four();
	plugin.says_yes = true;
	given(calls);
	assert_int_equal(run(&err), -EACCES);
	assert_complaint(FORBIDDEN);
	assert_said(FOUR_SAID);
	assert_states(1, 2, 1, 0);
}

/* The signal also ends the kubectl that runs. */
static void ctrl_c_during_a_call_is_no_failure_of_the_call(void **state)
{
	static const struct exchange calls[] = {
		{ .call = LOOK("m"),
			.complaint = "cut off\n",
			.status = 130,
			.is_cut_off = true },
	};
	struct error err;

	(void)state;
	add("x", NULL, NAME "m");
	given(calls);
	assert_int_equal(run(&err), -EINTR);
	assert_string_equal(err.text,
		"interrupted; 1 migration goes on: kubectl get "
		"virtualmachineinstancemigrations");
	assert_said("? \nCancel 1 migration that moves now?\n");
	assert_complaint("");
	assert_int_equal(plugin.waits, 0);
}

static void ctrl_c_asks_nothing_if_nothing_moves(void **state)
{
	static const struct exchange calls[] = {
		{ .call = LOOK("m"), .out = MOVED("n2"), .is_cut_off = true },
	};
	struct error err;

	(void)state;
	add("x", NULL, NAME "m");
	given(calls);
	assert_int_equal(run(&err), -EINTR);
	assert_string_equal(err.text, "interrupted");
	assert_said("a/x: moved to n2 after 0s\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		migrations_test(a_silent_server_is_asked_for_a_minute),
		migrations_test(an_answer_begins_the_minute_anew),
		migrations_test(
			many_migrations_wait_for_the_server_as_long_as_one),
		migrations_test(a_right_that_is_missing_ends_the_run_at_once),
		migrations_test(ctrl_c_leaves_migrations_if_the_user_says_no),
		migrations_test(ctrl_c_cancels_migrations_if_the_user_says_yes),
		migrations_test(
			a_migration_that_cannot_be_cancelled_ends_the_cancelling),
		migrations_test(ctrl_c_during_a_call_is_no_failure_of_the_call),
		migrations_test(ctrl_c_asks_nothing_if_nothing_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
