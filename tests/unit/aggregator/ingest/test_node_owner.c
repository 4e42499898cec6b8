#include "aggregator/ingest/node_owner.h"

#include "aggregator/live/live.h"
#include "tests/support/cm.h"

#include <stdio.h>
#include <string.h>

static const uint64_t second = 1000000;
static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 'a' };
static const uint8_t run_b[REPORT_RUN_ID_BYTES] = { 'b' };

static const uint8_t run_c[REPORT_RUN_ID_BYTES] = { 'c' };

static const struct node_claim a = { "n1", run_a, "", "" };
static const struct node_claim b = { "n1", run_b, "", "" };
static const struct node_claim pod_a = { "n1", run_a, "/pods/p1", "u1" };
static const struct node_claim pod_b = { "n1", run_b, "/pods/p2", "u2" };

static int setup(void **state)
{
	*state = node_owners_new();
	return 0;
}

static int teardown(void **state)
{
	node_owners_free(*state);
	return 0;
}

static size_t rivals(const struct node_owners *owners, uint64_t now_us)
{
	const char *names[NODE_OWNER_NAMES_MAX] = { NULL };
	size_t count = node_owners_rivals(owners, names, now_us);

	if (count > 0) {
		assert_non_null(names[0]);
	}
	return count;
}

static void the_agent_that_reports_continues(void **state)
{
	assert_true(node_owners_claim(*state, &a, 100 * second));
	for (uint64_t s = 100; s < 200; s += 2) {
		assert_true(node_owners_report(*state, &a, 2000, s * second));
		assert_false(node_owners_claim(*state, &b, (s + 1) * second));
		assert_false(
			node_owners_report(*state, &b, 2000, (s + 1) * second));
	}
	/* It may connect again. */
	assert_true(node_owners_claim(*state, &a, 200 * second));
}

static void another_one_takes_over_after_two_silent_intervals(void **state)
{
	assert_true(node_owners_claim(*state, &a, 100 * second));
	assert_true(node_owners_report(*state, &a, 10000, 100 * second));
	assert_false(node_owners_claim(*state, &b, 120 * second));
	assert_true(node_owners_claim(*state, &b, 120 * second + 1));
	/* And then the first one waits. */
	assert_false(node_owners_report(*state, &a, 10000, 121 * second));
	assert_false(node_owners_claim(*state, &a, 121 * second));
	assert_true(node_owners_report(*state, &b, 10000, 121 * second));
}

/* Else a report could keep others out for 99 days, and a slow disk would make
 * two fast agents take turns. */
static void the_intervals_of_reports_have_limits(void **state)
{
	assert_true(node_owners_claim(*state, &a, 100 * second));
	assert_true(node_owners_report(*state, &a, 1, 100 * second));
	assert_false(node_owners_claim(*state, &b, 102 * second));
	assert_true(node_owners_report(*state, &a, UINT32_MAX, 102 * second));
	assert_false(node_owners_claim(*state, &b, 222 * second));
	assert_true(node_owners_claim(*state, &b, 223 * second));
}

static void a_new_process_of_the_same_pod_takes_over_at_once(void **state)
{
	const struct node_claim again = { "n1", run_c, "/pods/p1", "u1" };

	assert_true(node_owners_claim(*state, &pod_a, 100 * second));
	assert_true(node_owners_claim(*state, &again, 100 * second));
	assert_false(node_owners_report(*state, &pod_a, 2000, 100 * second));
	assert_false(node_owners_claim(*state, &pod_b, 101 * second));
}

static void agents_without_a_pod_are_not_of_the_same_pod(void **state)
{
	assert_true(node_owners_claim(*state, &a, 100 * second));
	assert_false(node_owners_claim(*state, &b, 101 * second));
}

static void an_agent_whose_pod_is_deleted_is_dismissed(void **state)
{
	char pod[NODE_OWNER_POD_MAX], uid[NODE_OWNER_UID_MAX];

	assert_false(node_owners_pod(*state, "n1", pod, uid));
	assert_true(node_owners_claim(*state, &pod_a, 100 * second));
	assert_false(node_owners_claim(*state, &pod_b, 101 * second));
	assert_true(node_owners_pod(*state, "n1", pod, uid));
	assert_string_equal(pod, "/pods/p1");
	assert_string_equal(uid, "u1");
	node_owners_dismiss(*state, "n1", "u2"); /* not the one that reports */
	assert_false(node_owners_claim(*state, &pod_b, 101 * second));
	node_owners_dismiss(*state, "n1", "u1");
	assert_true(node_owners_claim(*state, &pod_b, 101 * second));
	assert_false(node_owners_claim(*state, &pod_a, 102 * second));
}

static void nodes_are_independent(void **state)
{
	const struct node_claim other = { "n2", run_b, "", "" };

	assert_true(node_owners_claim(*state, &a, 100 * second));
	assert_true(node_owners_claim(*state, &other, 100 * second));
	assert_true(node_owners_report(*state, &a, 2000, 101 * second));
	assert_true(node_owners_report(*state, &other, 2000, 101 * second));
}

static void names_nodes_with_two_agents_until_one_is_gone(void **state)
{
	assert_true(node_owners_claim(*state, &a, 100 * second));
	assert_int_equal(rivals(*state, 100 * second), 0);
	assert_false(node_owners_claim(*state, &b, 101 * second));
	assert_true(node_owners_may_log(*state, "n1", 101 * second));
	assert_false(node_owners_may_log(*state, "n1", 160 * second));
	assert_true(node_owners_may_log(*state, "n1", 161 * second));
	assert_false(node_owners_may_log(*state, "n2", 300 * second));
	assert_int_equal(rivals(*state, 101 * second), 1);
	assert_int_equal(rivals(*state, 131 * second), 0);
}

static void counts_nodes_whose_agent_reports(void **state)
{
	const struct node_claim other = { "n2", run_b, "", "" };

	assert_int_equal(node_owners_connected(*state, 100 * second), 0);
	assert_true(node_owners_claim(*state, &a, 100 * second));
	assert_true(node_owners_claim(*state, &other, 100 * second));
	assert_int_equal(node_owners_connected(*state, 101 * second), 2);
	assert_true(node_owners_report(*state, &a, 2000, 103 * second));
	assert_int_equal(node_owners_connected(*state, 105 * second), 1);
	assert_int_equal(node_owners_connected(*state, 108 * second), 0);
}

/* Invented nodes cost a bounded table, and keep nobody out. */
static void a_full_table_lets_everybody_report(void **state)
{
	char name[32];
	const struct node_claim many = { name, run_a, "", "" };

	for (int i = 0; i < LIVE_NODES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "invented-%d", i);
		assert_true(node_owners_claim(*state, &many, 100 * second));
	}
	assert_true(node_owners_claim(*state, &a, 100 * second));
	assert_true(node_owners_report(*state, &a, 2000, 100 * second));
	assert_true(node_owners_claim(*state, &b, 100 * second));
	/* When the others are silent, there is room. */
	assert_true(node_owners_claim(*state, &a, 105 * second));
	assert_false(node_owners_claim(*state, &b, 105 * second));
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(the_agent_that_reports_continues),
		test(another_one_takes_over_after_two_silent_intervals),
		test(the_intervals_of_reports_have_limits),
		test(a_new_process_of_the_same_pod_takes_over_at_once),
		test(agents_without_a_pod_are_not_of_the_same_pod),
		test(an_agent_whose_pod_is_deleted_is_dismissed),
		test(nodes_are_independent),
		test(names_nodes_with_two_agents_until_one_is_gone),
		test(counts_nodes_whose_agent_reports),
		test(a_full_table_lets_everybody_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
