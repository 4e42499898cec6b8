#include "scheduler/cache/outage.h"

#include "lib/buffer.h"
#include "lib/files.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct reflector_state good = { .is_watching = true,
	.last_error = "" };
static const struct reflector_state early = { .last_error = "" };
static const struct reflector_state bad = { .last_error = "no way" };

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

/* Time passes with the watches in these states. */
static void pass(uint64_t seconds, const struct reflector_state *nodes,
	const struct reflector_state *pods)
{
	for (uint64_t i = 0; i < seconds; i += 2) {
		world.now_us += 2000000;
		outage_poll(&world.outage, nodes, pods, world.now_us);
	}
}

/* How often this text was logged so far. */
static unsigned int count_logged(const char *what)
{
	scoped_buffer struct buffer log = BUFFER_MAX(65536);
	unsigned int count = 0;

	assert_int_equal(file_read(&log, "/proc/self/fd/2", NULL), 0);
	for (const char *at = log.data; at != NULL && *at != '\0'; at++) {
		count += strncmp(at, what, strlen(what)) == 0;
	}
	return count;
}

static void logs_the_cause_and_the_end_of_an_outage(void **state)
{
	(void)state;
	pass(10, &early, &early);
	assert_int_equal(count_logged("\n"), 0);
	pass(2, &good, &bad);
	assert_int_equal(
		count_logged("cannot watch the cluster\" err=\"no way\""), 1);
	pass(4, &good, &early);
	assert_int_equal(count_logged("watching the cluster again"), 0);
	pass(4, &good, &good);
	assert_int_equal(count_logged("watching the cluster again"), 1);
	pass(2, &bad, &good);
	assert_int_equal(count_logged("cannot watch"), 2);
}

static void logs_an_outage_once_a_minute(void **state)
{
	(void)state;
	pass(600, &bad, &bad);
	assert_int_equal(count_logged("cannot watch"), 10);
	assert_int_equal(count_logged("watching the cluster again"), 0);
}

static void a_healthy_watch_has_no_reason(void **state)
{
	const struct reflector_state healed = { .is_watching = true,
		.last_error = "long ago" };

	(void)state;
	assert_string_equal(outage_reason(&healed, &healed), "");
	assert_string_equal(outage_reason(&healed, &bad), "no way");
	assert_string_equal(outage_reason(&bad, &healed), "no way");
	assert_string_equal(outage_reason(&early, &bad), "no way");
}

static void readiness_names_what_is_missing(void **state)
{
	static const struct reflector_state synced = { .is_synced = true,
		.is_watching = true,
		.last_error = "" };
	static const struct reflector_state cut = { .is_synced = true,
		.last_error = "gone" };
	static const struct {
		const struct reflector_state *nodes, *pods;
		size_t connected, total;
		bool is_ready;
		const char *text;
	} cases[] = {
		{ &early, &early, 0, 0, false, "caches not synced yet" },
		{ &synced, &bad, 1, 1, false, "caches not synced yet: no way" },
		{ &synced, &cut, 0, 1, true,
			"degraded: a watch is interrupted: gone" },
		{ &synced, &synced, 1, 2, true,
			"degraded: 1 of 2 aggregators connected" },
		{ &synced, &synced, 0, 0, true,
			"degraded: no --aggregator, scoring by requests only" },
		{ &synced, &synced, 2, 2, true, "" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_buffer struct buffer out = BUFFER_MAX(1000);

		assert_int_equal(
			outage_ready(&out, cases[i].nodes, cases[i].pods,
				cases[i].connected, cases[i].total),
			cases[i].is_ready);
		assert_string_equal(out.data == NULL ? "" : out.data,
			cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			logs_the_cause_and_the_end_of_an_outage, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(logs_an_outage_once_a_minute,
			set_up, tear_down),
		cmocka_unit_test(a_healthy_watch_has_no_reason),
		cmocka_unit_test(readiness_names_what_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
