#include "scheduler/cache/outage.h"

#include "lib/buffer.h"
#include "lib/files.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct reflector_state good = { .is_watching = true,
	.trouble = "" };
static const struct reflector_state early = { .trouble = "" };
static const struct reflector_state bad = { .trouble = "no way" };

static struct {
	uint64_t now_us;
	struct outage outage;
	FILE *log;
	int stderr_before;
} world;

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.now_us = 1000000;
	world.log = tmpfile();
	assert_non_null(world.log);
	world.stderr_before = dup(STDERR_FILENO);
	assert_true(dup2(fileno(world.log), STDERR_FILENO) >= 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_true(dup2(world.stderr_before, STDERR_FILENO) >= 0);
	assert_int_equal(close(world.stderr_before), 0);
	assert_int_equal(fclose(world.log), 0);
	return 0;
}

/* Lets time pass, with the watches in these states. */
static void pass(uint64_t seconds, const struct reflector_state *nodes,
	const struct reflector_state *pods)
{
	for (uint64_t i = 0; i < seconds; i += 2) {
		world.now_us += 2000000;
		outage_look(&world.outage, nodes, pods, world.now_us);
	}
}

/* How often the log so far says this. */
static unsigned int said(const char *what)
{
	scoped_buffer struct buffer log = BUFFER_MAX(65536);
	unsigned int count = 0;

	assert_int_equal(file_read(&log, "/proc/self/fd/2", NULL), 0);
	for (const char *at = log.data; at != NULL && *at != '\0'; at++) {
		count += strncmp(at, what, strlen(what)) == 0;
	}
	return count;
}

static void says_why_and_when_it_is_over(void **state)
{
	(void)state;
	pass(10, &early, &early);
	assert_int_equal(said("\n"), 0);
	pass(2, &good, &bad);
	assert_int_equal(said("cannot be followed\" err=\"no way\""), 1);
	pass(4, &good, &early);
	assert_int_equal(said("followed again"), 0);
	pass(4, &good, &good);
	assert_int_equal(said("followed again"), 1);
	pass(2, &bad, &good);
	assert_int_equal(said("cannot be followed"), 2);
}

static void does_not_repeat_itself_at_speed(void **state)
{
	(void)state;
	pass(600, &bad, &bad);
	assert_int_equal(said("cannot be followed"), 10);
	assert_int_equal(said("followed again"), 0);
}

static void a_watch_that_goes_on_has_no_reason(void **state)
{
	const struct reflector_state healed = { .is_watching = true,
		.trouble = "long ago" };

	(void)state;
	assert_string_equal(outage_why(&healed, &healed), "");
	assert_string_equal(outage_why(&healed, &bad), "no way");
	assert_string_equal(outage_why(&bad, &healed), "no way");
	assert_string_equal(outage_why(&early, &bad), "no way");
}

static void probes_hear_what_is_missing(void **state)
{
	static const struct reflector_state known = { .is_synced = true,
		.is_watching = true,
		.trouble = "" };
	static const struct reflector_state cut = { .is_synced = true,
		.trouble = "gone" };
	static const struct {
		const struct reflector_state *nodes, *pods;
		size_t connected, of;
		bool is_ready;
		const char *text;
	} cases[] = {
		{ &early, &early, 0, 0, false, "the cluster is not known yet" },
		{ &known, &bad, 1, 1, false,
			"the cluster is not known yet: no way" },
		{ &known, &cut, 0, 1, true,
			"degraded: a watch is interrupted: gone" },
		{ &known, &known, 1, 2, true,
			"degraded: 1 of 2 aggregators connected" },
		{ &known, &known, 0, 0, true,
			"degraded: no --aggregator, scores by requests alone" },
		{ &known, &known, 2, 2, true, "" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_buffer struct buffer out = BUFFER_MAX(1000);

		assert_int_equal(
			outage_ready(&out, cases[i].nodes, cases[i].pods,
				cases[i].connected, cases[i].of),
			cases[i].is_ready);
		assert_string_equal(out.data == NULL ? "" : out.data,
			cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(says_why_and_when_it_is_over,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(does_not_repeat_itself_at_speed,
			set_up, tear_down),
		cmocka_unit_test(a_watch_that_goes_on_has_no_reason),
		cmocka_unit_test(probes_hear_what_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
