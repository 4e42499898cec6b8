#include "aggregator/live/pod_claims.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdio.h>

static const uint64_t second_us = 1000000;

#define claim_at(claims, uid, node, s)                                         \
	pod_claims_claim(claims, uid, node, (uint64_t)((s)*1e6))

static void the_first_node_holds_a_pod(void **state)
{
	struct pod_claims *claims = pod_claims_new();

	(void)state;
	assert_null(claim_at(claims, "p1", "a", 1));
	assert_string_equal(claim_at(claims, "p1", "b", 1), "a");
	assert_null(claim_at(claims, "p2", "b", 1));
	assert_string_equal(claim_at(claims, "p2", "a", 2), "b");
	assert_null(claim_at(claims, "p1", "a", 2));
	pod_claims_free(claims);
	pod_claims_free(NULL);
}

/* A claim that is not granted does not count for later. */
static void a_pod_is_free_after_five_minutes_of_silence(void **state)
{
	struct pod_claims *claims = pod_claims_new();

	(void)state;
	assert_null(claim_at(claims, "p1", "a", 0));
	for (int s = 1; s < 300; s += 2) {
		assert_string_equal(claim_at(claims, "p1", "b", s), "a");
	}
	assert_null(claim_at(claims, "p1", "a", 299.9));
	assert_string_equal(claim_at(claims, "p1", "b", 300), "a");
	assert_string_equal(claim_at(claims, "p1", "b", 599.8), "a");
	assert_null(claim_at(claims, "p1", "b", 599.9));
	assert_string_equal(claim_at(claims, "p1", "a", 600), "b");
	pod_claims_free(claims);
}

/* The last reports that the store has arrive in the order of the nodes. */
static void claims_of_the_past_count_by_their_time(void **state)
{
	struct pod_claims *claims = pod_claims_new();

	(void)state;
	assert_null(claim_at(claims, "p1", "b", 1000));
	assert_string_equal(claim_at(claims, "p1", "a", 10), "b");
	assert_null(claim_at(claims, "p2", "a", 10));
	assert_null(claim_at(claims, "p2", "b", 1000));
	assert_string_equal(claim_at(claims, "p2", "a", 1001), "b");
	/* An older report of the holder changes nothing. */
	assert_null(claim_at(claims, "p1", "b", 500));
	assert_string_equal(claim_at(claims, "p1", "a", 1299), "b");
	pod_claims_free(claims);
}

static void silent_claims_are_removed(void **state)
{
	struct pod_claims *claims = pod_claims_new();
	char uid[32];

	(void)state;
	for (int i = 0; i < POD_CLAIMS_NODE_MAX; i++) {
		(void)snprintf(uid, sizeof(uid), "p%d", i);
		assert_null(claim_at(claims, uid, "a", 1));
	}
	for (int i = 0; i < POD_CLAIMS_NODE_MAX; i++) {
		(void)snprintf(uid, sizeof(uid), "q%d", i);
		assert_null(claim_at(claims, uid, "a", 302));
	}
	/* All are held, so the others left room for them. */
	assert_string_equal(claim_at(claims, "q0", "b", 303), "a");
	assert_string_equal(claim_at(claims, uid, "b", 303), "a");
	pod_claims_free(claims);
}

static void a_node_holds_a_limited_number_of_pods(void **state)
{
	struct pod_claims *claims = pod_claims_new();
	char uid[32], at_limit[32];

	(void)state;
	assert_null(claim_at(claims, "honest", "a", 1));
	for (int i = 0; i < POD_CLAIMS_NODE_MAX + 100; i++) {
		(void)snprintf(uid, sizeof(uid), "p%d", i);
		assert_null(claim_at(claims, uid, "b", 1));
	}
	(void)snprintf(at_limit, sizeof(at_limit), "p%d",
		POD_CLAIMS_NODE_MAX - 1);
	assert_string_equal(claim_at(claims, at_limit, "a", 2), "b");
	(void)snprintf(at_limit, sizeof(at_limit), "p%d", POD_CLAIMS_NODE_MAX);
	assert_null(claim_at(claims, at_limit, "a", 2));
	assert_string_equal(claim_at(claims, "honest", "b", 2), "a");
	assert_string_equal(claim_at(claims, "p0", "a", 2), "b");
	/* The last of the pods is not held. */
	assert_null(claim_at(claims, uid, "a", 2));
	assert_string_equal(claim_at(claims, uid, "b", 2), "a");
	assert_int_equal(POD_CLAIMS_SILENT_US, 300 * second_us);
	pod_claims_free(claims);
}

static void all_nodes_hold_a_limited_number_of_pods(void **state)
{
	struct pod_claims *claims = pod_claims_new();
	char uid[32], node[32], at_limit[32];

	(void)state;
	for (int i = 0; i < POD_CLAIMS_MAX + 100; i++) {
		(void)snprintf(uid, sizeof(uid), "p%d", i);
		(void)snprintf(node, sizeof(node), "n%d", i / 4000);
		assert_null(claim_at(claims, uid, node, 1));
	}
	(void)snprintf(at_limit, sizeof(at_limit), "p%d", POD_CLAIMS_MAX - 1);
	assert_string_equal(claim_at(claims, at_limit, "n0", 2), node);
	(void)snprintf(at_limit, sizeof(at_limit), "p%d", POD_CLAIMS_MAX);
	assert_null(claim_at(claims, at_limit, "n0", 2));
	assert_string_equal(claim_at(claims, "p0", "n1", 2), "n0");
	/* There is room again when nodes are silent. */
	assert_null(claim_at(claims, uid, "n1", 302));
	assert_string_equal(claim_at(claims, uid, "n2", 302), "n1");
	pod_claims_free(claims);
}

/* The order of a node's pods is only a guess where to search. */
static void pods_may_come_in_any_order(void **state)
{
	static const char *const orders[] = { "1234", "1234", "4321", "2413",
		"14", "3123" };
	struct pod_claims *claims = pod_claims_new();
	int s = 1;

	(void)state;
	for (size_t i = 0; i < count_of(orders); i++) {
		for (const char *at = orders[i]; *at != '\0'; at++) {
			const char ours[] = { 'p', *at, '\0' };
			const char theirs[] = { 'q', *at, '\0' };

			assert_null(claim_at(claims, ours, "a", s));
			assert_null(claim_at(claims, theirs, "b", s));
			assert_string_equal(claim_at(claims, ours, "b", s),
				"a");
			assert_string_equal(claim_at(claims, theirs, "a", s),
				"b");
		}
		s += 10;
	}
	pod_claims_free(claims);
}

static void a_claim_that_was_removed_is_not_found(void **state)
{
	struct pod_claims *claims = pod_claims_new();

	(void)state;
	assert_null(claim_at(claims, "p1", "a", 1));
	assert_null(claim_at(claims, "p2", "a", 1));
	/* p2 is expected next, and is silent for too long. */
	assert_null(claim_at(claims, "p1", "a", 200));
	assert_null(claim_at(claims, "p2", "b", 302));
	assert_string_equal(claim_at(claims, "p2", "a", 302), "b");
	pod_claims_free(claims);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_node_holds_a_pod),
		cmocka_unit_test(a_pod_is_free_after_five_minutes_of_silence),
		cmocka_unit_test(claims_of_the_past_count_by_their_time),
		cmocka_unit_test(silent_claims_are_removed),
		cmocka_unit_test(pods_may_come_in_any_order),
		cmocka_unit_test(a_claim_that_was_removed_is_not_found),
		cmocka_unit_test(a_node_holds_a_limited_number_of_pods),
		cmocka_unit_test(all_nodes_hold_a_limited_number_of_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
