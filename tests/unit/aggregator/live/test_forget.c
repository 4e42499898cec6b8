#include "aggregator/live/forget.h"

#include "aggregator/live/live.h"
#include "tests/unit/aggregator/sample.h"

#include <stdlib.h>

static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 'a' };
static const uint64_t second = 1000000;
static const uint64_t hour = 3600;

struct fixture {
	struct live *live;
	struct forget *forget;
};

static void add(struct fixture *f, const char *name, uint64_t at_s)
{
	struct report r = steady_report(at_s, (double)at_s, 1);
	struct live_sample sample = { name, run_a, &r, (int64_t)(at_s * second),
		0 };

	assert_int_equal(live_add(f->live, &sample, at_s * second, NULL), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->live = live_new(42, NULL);
	f->forget = forget_new(hour * second);
	add(f, "n1", 1000);
	add(f, "n2", 1000);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	live_free(f->live);
	forget_free(f->forget);
	free(f);
	return 0;
}

/* The number of nodes that are forgotten this long after their report. */
static size_t run_after(struct fixture *f, uint64_t age_s)
{
	char *first;
	size_t count =
		forget_run(f->forget, f->live, (1000 + age_s) * second, &first);

	assert_int_equal(first != NULL, count > 0);
	free(first);
	return count;
}

static void lost_nodes_are_forgotten_after_the_limit(void **state)
{
	struct fixture *f = *state;

	add(f, "n2", 2000);
	assert_int_equal(run_after(f, hour), 0);
	assert_int_equal(run_after(f, hour + 1), 1);
	assert_null(live_find(f->live, "n1"));
	assert_non_null(live_find(f->live, "n2"));
	assert_int_equal(live_count(f->live), 1);
}

static void a_node_whose_object_is_deleted_goes_when_it_is_not_fresh(
	void **state)
{
	struct fixture *f = *state;

	forget_object_exists(f->forget, "n1");
	forget_object_exists(f->forget, "n2");
	forget_objects_listed(f->forget);
	forget_object_deleted(f->forget, "n1");
	assert_int_equal(run_after(f, 15), 0);
	assert_int_equal(run_after(f, 16), 1);
	assert_null(live_find(f->live, "n1"));
	assert_int_equal(run_after(f, 400), 0);
}

static void a_node_that_is_created_again_stays(void **state)
{
	struct fixture *f = *state;

	forget_object_exists(f->forget, "n1");
	forget_object_exists(f->forget, "n2");
	forget_objects_listed(f->forget);
	forget_object_deleted(f->forget, "n1");
	forget_object_exists(f->forget, "n1");
	assert_int_equal(run_after(f, 400), 0);
}

/* An agent beside the cluster, whose node comes and goes otherwise. */
static void a_node_that_never_had_an_object_goes_when_it_is_lost(void **state)
{
	struct fixture *f = *state;

	forget_object_exists(f->forget, "n2");
	forget_object_deleted(f->forget, "n1"); /* an object never seen */
	forget_objects_listed(f->forget);
	assert_int_equal(run_after(f, 300), 0);
	assert_int_equal(run_after(f, 301), 1);
	assert_null(live_find(f->live, "n1"));
}

static void without_a_complete_list_only_the_age_counts(void **state)
{
	struct fixture *f = *state;

	forget_object_exists(f->forget, "n1");
	forget_object_deleted(f->forget, "n1");
	assert_int_equal(run_after(f, hour), 0);
	assert_int_equal(run_after(f, hour + 1), 2);
	assert_int_equal(live_count(f->live), 0);
}

static void a_forgotten_node_that_reports_again_is_back(void **state)
{
	struct fixture *f = *state;

	forget_object_exists(f->forget, "n1");
	forget_object_exists(f->forget, "n2");
	forget_objects_listed(f->forget);
	forget_object_deleted(f->forget, "n1");
	assert_int_equal(run_after(f, 20), 1);
	add(f, "n1", 1030);
	/* The deletion is forgotten with the node: now it has no object. */
	assert_int_equal(run_after(f, 60), 0);
	assert_int_equal(run_after(f, 331), 1);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(lost_nodes_are_forgotten_after_the_limit),
		test(a_node_whose_object_is_deleted_goes_when_it_is_not_fresh),
		test(a_node_that_is_created_again_stays),
		test(a_node_that_never_had_an_object_goes_when_it_is_lost),
		test(without_a_complete_list_only_the_age_counts),
		test(a_forgotten_node_that_reports_again_is_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
