/* Which request begins next, with requests that are never sent. */
#include "kube/http_queue.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdlib.h>

enum { NOW = 1000, COUNT = 64 };

struct world {
	struct http_queue queue;
	struct http_transfer normal[COUNT], background[COUNT];
};

static int set_up(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	http_queue_init(&w->queue);
	for (size_t i = 0; i < COUNT; i++) {
		w->background[i].call.priority = HTTP_BACKGROUND;
		w->background[i].deadline_ms = UINT64_MAX;
		w->normal[i].deadline_ms = UINT64_MAX;
	}
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

/* Begins all that may; the number. */
static size_t begin_all(struct world *w, uint64_t now_ms)
{
	size_t count = 0;

	while (http_queue_next(&w->queue, now_ms) != NULL) {
		count++;
	}
	return count;
}

static void wait_all(struct world *w, struct http_transfer *transfers)
{
	for (size_t i = 0; i < COUNT; i++) {
		http_queue_wait(&w->queue, &transfers[i], NOW);
	}
}

static void those_that_came_first_go_first(void **state)
{
	struct world *w = *state;

	wait_all(w, w->normal);
	for (size_t i = 0; i < HTTP_REQUESTS; i++) {
		assert_ptr_equal(http_queue_next(&w->queue, NOW),
			&w->normal[i]);
	}
	assert_null(http_queue_next(&w->queue, NOW));
	http_queue_leave(&w->queue, &w->normal[2]);
	assert_ptr_equal(http_queue_next(&w->queue, NOW),
		&w->normal[HTTP_REQUESTS]);
	assert_null(http_queue_next(&w->queue, NOW));
}

static void the_background_has_every_fourth_turn(void **state)
{
	struct world *w = *state;
	size_t background = 0, run = 0;

	wait_all(w, w->normal);
	wait_all(w, w->background);
	for (int i = 0; i < 40; i++) {
		struct http_transfer *t = http_queue_next(&w->queue, NOW);

		assert_non_null(t);
		if (t->call.priority == HTTP_BACKGROUND) {
			assert_true(background == 0 || run == 3);
			background++;
			run = 0;
		} else {
			run++;
		}
		http_queue_leave(&w->queue, t);
	}
	assert_int_equal(background, 10);
}

static void the_background_never_has_more_than_half(void **state)
{
	struct world *w = *state;

	wait_all(w, w->background);
	assert_int_equal(begin_all(w, NOW), HTTP_REQUESTS / 2);
	wait_all(w, w->normal);
	assert_int_equal(begin_all(w, NOW), HTTP_REQUESTS / 2);
	assert_int_equal(w->queue.background_in_flight, HTTP_REQUESTS / 2);
}

static void after_a_long_wait_more_may_begin(void **state)
{
	struct world *w = *state;

	wait_all(w, w->normal);
	assert_int_equal(begin_all(w, NOW + HTTP_PATIENCE_MS - 1),
		HTTP_REQUESTS);
	assert_int_equal(begin_all(w, NOW + HTTP_PATIENCE_MS),
		HTTP_REQUESTS_MAX - HTTP_REQUESTS);
	/* Later ones find the usual number. */
	for (size_t i = 0; i < HTTP_REQUESTS_MAX; i++) {
		http_queue_leave(&w->queue, &w->normal[i]);
	}
	for (size_t i = HTTP_REQUESTS_MAX; i < COUNT; i++) {
		http_queue_leave(&w->queue, &w->normal[i]);
		http_queue_wait(&w->queue, &w->normal[i],
			NOW + HTTP_PATIENCE_MS);
	}
	assert_int_equal(begin_all(w, NOW + HTTP_PATIENCE_MS), HTTP_REQUESTS);
}

static void a_long_wait_of_the_background_alone_changes_nothing(void **state)
{
	struct world *w = *state;

	wait_all(w, w->background);
	assert_int_equal(begin_all(w, NOW + HTTP_PATIENCE_MS),
		HTTP_REQUESTS / 2);
	/* It has its share of those that a slow server has. */
	wait_all(w, w->normal);
	assert_int_equal(begin_all(w, NOW + HTTP_PATIENCE_MS),
		HTTP_REQUESTS_MAX - HTTP_REQUESTS / 2);
	assert_true(w->queue.background_in_flight > HTTP_REQUESTS / 2);
}

static void only_those_that_wait_expire(void **state)
{
	struct world *w = *state;

	w->normal[0].deadline_ms = NOW + 1;
	w->normal[COUNT - 1].deadline_ms = NOW + 1;
	w->background[5].deadline_ms = NOW + 2;
	wait_all(w, w->normal);
	wait_all(w, w->background);
	assert_int_equal(begin_all(w, NOW), HTTP_REQUESTS);
	assert_null(http_queue_expired(&w->queue, NOW));
	assert_ptr_equal(http_queue_expired(&w->queue, NOW + 2),
		&w->normal[COUNT - 1]);
	assert_ptr_equal(http_queue_expired(&w->queue, NOW + 2),
		&w->background[5]);
	assert_null(http_queue_expired(&w->queue, NOW + 2));
	assert_int_equal(w->queue.in_flight, HTTP_REQUESTS);
}

#define with_world(test)                                                       \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_world(those_that_came_first_go_first),
		with_world(the_background_has_every_fourth_turn),
		with_world(the_background_never_has_more_than_half),
		with_world(after_a_long_wait_more_may_begin),
		with_world(a_long_wait_of_the_background_alone_changes_nothing),
		with_world(only_those_that_wait_expire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
