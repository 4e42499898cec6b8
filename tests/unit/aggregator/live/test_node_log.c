#include "aggregator/live/node_log.h"

#include "tests/support/log_lines.h"
#include "tests/unit/aggregator/sample.h"

static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 'a' };
static const uint64_t second_us = 1000000;

static int setup(void **state)
{
	log_lines_forget();
	*state = live_new(42, NULL);
	return 0;
}

static int teardown(void **state)
{
	live_free(*state);
	return 0;
}

static void add(struct live *live, const char *node, uint64_t seq,
	uint64_t now_us)
{
	struct report r = steady_report(seq, 100 + (double)seq, 1);
	struct live_sample sample = { node, run_a, &r, (int64_t)now_us, 0 };

	assert_int_equal(live_add(live, &sample, now_us, NULL), 0);
	report_fini(&r);
}

static void logs_a_node_when_it_comes_is_lost_and_returns(void **state)
{
	struct live *live = *state;
	struct node_log *nodes = node_log_new();

	node_log_begin(nodes, live, second_us);
	add(live, "a", 1, second_us);
	node_log_poll(nodes, live, 2 * second_us);
	assert_string_equal(log_lines, "first report of a node: a\n");
	node_log_poll(nodes, live, 290 * second_us);
	assert_int_equal(log_line_count, 1);
	log_lines_forget();
	node_log_poll(nodes, live, 302 * second_us);
	node_log_poll(nodes, live, 307 * second_us);
	assert_string_equal(log_lines, "node is lost: a\n");
	log_lines_forget();
	add(live, "a", 2, 310 * second_us);
	node_log_poll(nodes, live, 311 * second_us);
	assert_string_equal(log_lines, "lost node reports again: a\n");
	node_log_free(nodes);
}

static void stored_nodes_are_not_new(void **state)
{
	struct live *live = *state;
	struct node_log *nodes = node_log_new();

	add(live, "a", 1, second_us);
	node_log_poll(nodes, live, 2 * second_us);
	node_log_begin(nodes, live, 3 * second_us);
	add(live, "b", 1, 4 * second_us);
	node_log_poll(nodes, live, 5 * second_us);
	assert_string_equal(log_lines, "first report of a node: b\n");
	node_log_free(nodes);
}

static void a_thousand_invented_nodes_make_eleven_lines(void **state)
{
	struct live *live = *state;
	struct node_log *nodes = node_log_new();
	char name[16];

	node_log_begin(nodes, live, second_us);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		add(live, name, 1, second_us);
	}
	node_log_poll(nodes, live, 2 * second_us);
	assert_int_equal(log_line_count, NODE_LOG_LINES + 1);
	assert_non_null(
		strstr(log_lines, "first reports of more nodes: 990\n"));
	node_log_free(nodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			logs_a_node_when_it_comes_is_lost_and_returns, setup,
			teardown),
		cmocka_unit_test_setup_teardown(stored_nodes_are_not_new, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_thousand_invented_nodes_make_eleven_lines, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
