/* Which request has the next place, with requests that are never sent. */
#include "kube/http_places.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdlib.h>

enum { NOW = 1000, COUNT = 64 };

struct world {
	struct http_places places;
	struct http_transfer normal[COUNT], background[COUNT];
};

static int set_up(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	http_places_init(&w->places);
	for (size_t i = 0; i < COUNT; i++) {
		w->background[i].priority = HTTP_BACKGROUND;
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

/* Takes all places that are free; the number. */
static size_t take_all(struct world *w, uint64_t now_ms)
{
	size_t count = 0;

	while (http_places_next(&w->places, now_ms) != NULL) {
		count++;
	}
	return count;
}

static void wait_all(struct world *w, struct http_transfer *transfers)
{
	for (size_t i = 0; i < COUNT; i++) {
		http_places_wait(&w->places, &transfers[i], NOW);
	}
}

static void those_that_came_first_go_first(void **state)
{
	struct world *w = *state;

	wait_all(w, w->normal);
	for (size_t i = 0; i < HTTP_REQUESTS; i++) {
		assert_ptr_equal(http_places_next(&w->places, NOW),
			&w->normal[i]);
	}
	assert_null(http_places_next(&w->places, NOW));
	http_places_leave(&w->places, &w->normal[2]);
	assert_ptr_equal(http_places_next(&w->places, NOW),
		&w->normal[HTTP_REQUESTS]);
	assert_null(http_places_next(&w->places, NOW));
}

static void the_background_has_every_fourth_place(void **state)
{
	struct world *w = *state;
	size_t background = 0, run = 0;

	wait_all(w, w->normal);
	wait_all(w, w->background);
	for (int i = 0; i < 40; i++) {
		struct http_transfer *t = http_places_next(&w->places, NOW);

		assert_non_null(t);
		if (t->priority == HTTP_BACKGROUND) {
			assert_true(background == 0 || run == 3);
			background++;
			run = 0;
		} else {
			run++;
		}
		http_places_leave(&w->places, t);
	}
	assert_int_equal(background, 10);
}

static void the_background_never_has_more_than_half(void **state)
{
	struct world *w = *state;

	wait_all(w, w->background);
	assert_int_equal(take_all(w, NOW), HTTP_REQUESTS / 2);
	wait_all(w, w->normal);
	assert_int_equal(take_all(w, NOW), HTTP_REQUESTS / 2);
	assert_int_equal(w->places.taken_background, HTTP_REQUESTS / 2);
}

static void those_that_waited_long_have_more_places(void **state)
{
	struct world *w = *state;

	wait_all(w, w->normal);
	assert_int_equal(take_all(w, NOW + HTTP_PATIENCE_MS - 1),
		HTTP_REQUESTS);
	assert_int_equal(take_all(w, NOW + HTTP_PATIENCE_MS),
		HTTP_REQUESTS_MAX - HTTP_REQUESTS);
	/* Later ones find the usual number. */
	for (size_t i = 0; i < HTTP_REQUESTS_MAX; i++) {
		http_places_leave(&w->places, &w->normal[i]);
	}
	for (size_t i = HTTP_REQUESTS_MAX; i < COUNT; i++) {
		http_places_leave(&w->places, &w->normal[i]);
		http_places_wait(&w->places, &w->normal[i],
			NOW + HTTP_PATIENCE_MS);
	}
	assert_int_equal(take_all(w, NOW + HTTP_PATIENCE_MS), HTTP_REQUESTS);
}

static void the_background_alone_has_no_more_places(void **state)
{
	struct world *w = *state;

	wait_all(w, w->background);
	assert_int_equal(take_all(w, NOW + HTTP_PATIENCE_MS),
		HTTP_REQUESTS / 2);
	/* It has its share of those that a slow server has. */
	wait_all(w, w->normal);
	assert_int_equal(take_all(w, NOW + HTTP_PATIENCE_MS),
		HTTP_REQUESTS_MAX - HTTP_REQUESTS / 2);
	assert_true(w->places.taken_background > HTTP_REQUESTS / 2);
}

static void only_those_that_wait_expire(void **state)
{
	struct world *w = *state;

	w->normal[0].deadline_ms = NOW + 1;
	w->normal[COUNT - 1].deadline_ms = NOW + 1;
	w->background[5].deadline_ms = NOW + 2;
	wait_all(w, w->normal);
	wait_all(w, w->background);
	assert_int_equal(take_all(w, NOW), HTTP_REQUESTS);
	assert_null(http_places_expired(&w->places, NOW));
	assert_ptr_equal(http_places_expired(&w->places, NOW + 2),
		&w->normal[COUNT - 1]);
	assert_ptr_equal(http_places_expired(&w->places, NOW + 2),
		&w->background[5]);
	assert_null(http_places_expired(&w->places, NOW + 2));
	assert_int_equal(w->places.taken, HTTP_REQUESTS);
}

#define with_world(test)                                                       \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_world(those_that_came_first_go_first),
		with_world(the_background_has_every_fourth_place),
		with_world(the_background_never_has_more_than_half),
		with_world(those_that_waited_long_have_more_places),
		with_world(the_background_alone_has_no_more_places),
		with_world(only_those_that_wait_expire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
