/* The informers follow the API server's version. */
#include "scheduler/cache/api_version.h"

#include "scheduler/cache/informers.h"
#include "scheduler/cache/reservations.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/scheduler/fake_cluster.h"

#define MINUTE_US UINT64_C(60000000)

static struct {
	struct cache cache;
	struct reservations reservations;
	struct queue queue;
	struct informers *informers;
	unsigned changes;
} scene;

static void ignore(void *owner)
{
	(void)owner;
}

static void count_change(void *owner)
{
	(void)owner;
	scene.changes++;
}

static void begin_with(const struct behaviour_overrides *overrides)
{
	memset(&world, 0, sizeof(world));
	memset(&scene, 0, sizeof(scene));
	fake_clock_set(MINUTE_US, 0);
	cache_init(&scene.cache);
	reservations_init(&scene.reservations, &scene.cache);
	queue_init(&scene.queue);
	scene.informers = informers_new(NULL,
		&(struct informers_options){ .cache = &scene.cache,
			.reservations = &scene.reservations,
			.queue = &scene.queue,
			.scheduler_name = "s",
			.behaviours = *overrides,
			.on_change = count_change,
			.on_synced = ignore });
}

static int begin(void **state)
{
	(void)state;
	begin_with(&(struct behaviour_overrides){ 0 });
	return 0;
}

static int end(void **state)
{
	(void)state;
	informers_close(scene.informers);
	queue_fini(&scene.queue);
	reservations_fini(&scene.reservations);
	cache_fini(&scene.cache);
	return 0;
}

static bool has(enum behaviour row)
{
	return behaviours_have(scene.cache.cluster.behaviours, row);
}

/* After a time. Whether it asks for the version. */
static bool asks_after(uint64_t us)
{
	world.version = (struct kube_call){ 0 };
	fake_clock_move(us);
	informers_poll(scene.informers);
	return world.version.on_done != NULL;
}

static void the_version_of_the_api_server_is_followed_from_the_start(
	void **state)
{
	(void)state;
	assert_non_null(world.version.on_done);
	answer_version(200, "v1.36.3");
	assert_true(has(BEHAVIOUR_DECLARED_FEATURES));
	assert_false(has(BEHAVIOUR_RESIZE_BY_SUMS));
	assert_int_equal(scene.changes, 1);
	/* The pods that were read meanwhile have other sums. */
	assert_int_equal(world.lists, 1);
}

static void the_newest_version_needs_no_second_list_of_pods(void **state)
{
	(void)state;
	answer_version(200, "v1.37.2");
	assert_true(has(BEHAVIOUR_RESIZE_BY_SUMS));
	assert_int_equal(world.lists, 0);
}

static void a_change_counts_when_two_answers_in_a_row_agree(void **state)
{
	(void)state;
	answer_version(200, "v1.36.3");
	assert_false(asks_after(MINUTE_US - 1));
	assert_true(asks_after(1));
	answer_version(200, "v1.37.0");
	assert_false(has(BEHAVIOUR_RESIZE_BY_SUMS));
	assert_true(asks_after(MINUTE_US));
	answer_version(200, "v1.36.3"); /* the other server */
	assert_true(asks_after(MINUTE_US));
	answer_version(200, "v1.37.0");
	assert_false(has(BEHAVIOUR_RESIZE_BY_SUMS));
	assert_int_equal(world.lists, 1);
	assert_true(asks_after(MINUTE_US));
	answer_version(200, "v1.37.1");
	assert_true(has(BEHAVIOUR_RESIZE_BY_SUMS));
	assert_int_equal(world.lists, 2);
}

static void a_server_that_is_away_is_asked_again_soon(void **state)
{
	(void)state;
	answer_version(0, "");
	assert_true(asks_after(MINUTE_US / 12));
	answer_version(503, "");
	assert_true(asks_after(MINUTE_US / 12));
	answer_version(200, "v1.36.3");
	assert_false(has(BEHAVIOUR_NODE_NAME_FIRST));
	assert_false(asks_after(MINUTE_US / 12));
}

static void a_server_that_does_not_tell_counts_as_the_newest(void **state)
{
	(void)state;
	answer_version(403, "");
	answer_version(200, "v0.0.0-master+$Format:%H$");
	assert_int_equal(scene.cache.cluster.behaviours.off, 0);
	assert_int_equal(world.lists, 0);
}

static void an_override_wins_over_the_version(void **state)
{
	struct behaviour_overrides overrides = { 0 };
	struct error err;

	assert_int_equal(end(state), 0);
	assert_int_equal(
		behaviours_override(&overrides, "declared-features=off", &err),
		0);
	begin_with(&overrides);
	answer_version(200, "v1.37.2");
	assert_false(has(BEHAVIOUR_DECLARED_FEATURES));
	assert_true(has(BEHAVIOUR_CSI_DRIVER_MISSING));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(the_version_of_the_api_server_is_followed_from_the_start),
		TEST(the_newest_version_needs_no_second_list_of_pods),
		TEST(a_change_counts_when_two_answers_in_a_row_agree),
		TEST(a_server_that_is_away_is_asked_again_soon),
		TEST(a_server_that_does_not_tell_counts_as_the_newest),
		TEST(an_override_wins_over_the_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
