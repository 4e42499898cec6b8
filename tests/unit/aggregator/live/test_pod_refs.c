#include "aggregator/live/pod_refs.h"

#include "lib/memory.h"
#include "tests/unit/aggregator/sample.h"

#include <stdlib.h>

/* A node whose newest report is `report`. */
struct node {
	struct identities *identities;
	struct pod_refs refs;
	struct report report;
};

static void put(struct node *node, const char *uid, const char *name)
{
	identities_put(node->identities, uid,
		&(struct identity){ "ns", name, "u", "n1" });
}

/* The pods of the next report, one letter each. */
static void report_pods(struct node *node, const char *uids)
{
	struct report next = sample_report(1, 100);
	struct vm_pod vms[8];
	size_t count = strlen(uids);

	for (size_t i = 0; i < count; i++) {
		vms[i] = sample_vm((const char[]){ uids[i], '\0' }, i);
	}
	sample_add_vms(&next, vms, count);
	pod_refs_move(&node->refs, node->identities, &node->report, &next);
	report_fini(&node->report);
	node->report = next;
}

/* Each pod's name has one letter; '-' stands for none. */
static void assert_names(const struct node *node, const char *names)
{
	assert_int_equal(node->refs.count, strlen(names));
	for (size_t i = 0; i < node->refs.count; i++) {
		const struct identity *identity =
			identity_ref_get(node->refs.list[i], "n1");

		assert_int_equal(identity == NULL ? '-' : identity->name[0],
			names[i]);
	}
}

static int setup(void **state)
{
	struct node *node = xcalloc(1, sizeof(*node));

	node->identities = identities_new();
	report_init(&node->report);
	*state = node;
	return 0;
}

static int teardown(void **state)
{
	struct node *node = *state;

	pod_refs_fini(&node->refs, node->identities, &node->report);
	report_fini(&node->report);
	identities_free(node->identities);
	free(node);
	return 0;
}

static void names_follow_the_api_server(void **state)
{
	struct node *node = *state;

	put(node, "a", "A");
	report_pods(node, "abc");
	assert_names(node, "A--");
	put(node, "b", "B");
	put(node, "a", "X");
	assert_names(node, "XB-");
	identities_remove(node->identities, "b");
	put(node, "c", "C");
	assert_names(node, "X-C");
}

static void names_follow_pods_that_come_go_and_change_places(void **state)
{
	struct node *node = *state;

	for (const char *uid = "abcdefg"; *uid != '\0'; uid++) {
		put(node, (const char[]){ *uid, '\0' },
			(const char[]){ *uid, '\0' });
	}
	report_pods(node, "abcd");
	assert_names(node, "abcd");
	report_pods(node, "bcd"); /* one went */
	assert_names(node, "bcd");
	report_pods(node, "bxcdg"); /* two came */
	assert_names(node, "b-cdg");
	report_pods(node, "gdx"); /* in another order */
	assert_names(node, "gd-");
	report_pods(node, "defgabc");
	assert_names(node, "defgabc");
	report_pods(node, "c"); /* many went */
	assert_names(node, "c");
	report_pods(node, "");
	assert_names(node, "");
}

/* Agents choose the uids that they report. */
static void pods_that_end_and_are_not_known_leave_nothing(void **state)
{
	struct node *node = *state;

	put(node, "b", "B");
	report_pods(node, "abc");
	assert_int_equal(identities_entries(node->identities), 3);
	report_pods(node, "bd");
	assert_int_equal(identities_entries(node->identities), 2);
	report_pods(node, "");
	assert_int_equal(identities_entries(node->identities), 1);
	assert_int_equal(identities_count(node->identities), 1);
}

static void pods_in_the_order_of_the_report_before_are_found(void **state)
{
	struct node *node = *state;
	const struct pod_refs *refs = &node->refs;
	const struct report *report = &node->report;
	size_t at = 0;

	report_pods(node, "abcd");
	assert_ptr_equal(pod_refs_find(refs, report, "a", &at), refs->list[0]);
	assert_ptr_equal(pod_refs_find(refs, report, "c", &at), refs->list[2]);
	assert_null(pod_refs_find(refs, report, "x", &at));
	assert_ptr_equal(pod_refs_find(refs, report, "d", &at), refs->list[3]);
	assert_null(pod_refs_find(refs, report, "a", &at));
}

static void without_an_api_server_nothing_is_held(void **state)
{
	struct node *node = *state;
	struct pod_refs refs = { 0 };
	size_t at = 0;

	report_pods(node, "ab");
	pod_refs_move(&refs, NULL, &node->report, &node->report);
	assert_int_equal(refs.count, 0);
	assert_null(pod_refs_find(&refs, &node->report, "a", &at));
	pod_refs_fini(&refs, NULL, &node->report);
}

#define pod_refs_test(name)                                                    \
	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		pod_refs_test(names_follow_the_api_server),
		pod_refs_test(names_follow_pods_that_come_go_and_change_places),
		pod_refs_test(pods_that_end_and_are_not_known_leave_nothing),
		pod_refs_test(pods_in_the_order_of_the_report_before_are_found),
		pod_refs_test(without_an_api_server_nothing_is_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
