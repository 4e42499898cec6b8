#include "lib/places.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <string.h>

enum { MAX = 4, HELD = 20 };

#define SECOND UINT64_C(1000000)
#define START (100 * SECOND)

static struct {
	struct places places;
	struct place held[HELD];
} world;

static int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	places_init(&world.places, MAX);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < HELD; i++) {
		places_remove(&world.places, &world.held[i]);
	}
	assert_true(LIST_EMPTY(&world.places.peers));
	assert_int_equal(world.places.held, 0);
	places_fini(&world.places);
	return 0;
}

static void hold(int i, const char *peer, size_t size, uint64_t now_us)
{
	places_add(&world.places, &world.held[i], peer, size, now_us);
	places_move(&world.held[i], PLACE_MOVING, now_us);
}

/* The index of the place that gives way, or -1. */
static int victim(const char *peer, size_t size, uint64_t now_us)
{
	struct place *place = places_victim(&world.places, peer, size, now_us);

	return place == NULL ? -1 : (int)(place - world.held);
}

/* A connection has one place for the bodies of all its requests. */
static void a_place_that_was_removed_begins_anew(void **state)
{
	(void)state;
	places_move(&world.held[0], PLACE_FIXED, START);
	places_remove(&world.places, &world.held[0]);
	places_add(&world.places, &world.held[0], "a", MAX, START);
	assert_int_equal(victim("b", 1, START + 10 * SECOND), 0);
}

static void a_single_place_may_be_larger_than_all(void **state)
{
	(void)state;
	assert_true(places_fit(&world.places, 100));
	hold(0, "a", 1, START);
	assert_true(places_fit(&world.places, MAX - 1));
	assert_false(places_fit(&world.places, MAX));
	assert_false(places_fit(&world.places, SIZE_MAX));
}

static void the_peer_with_the_most_gives_way_to_one_with_less(void **state)
{
	(void)state;
	hold(0, "b", 1, START);
	for (int i = 1; i < 4; i++) {
		hold(i, "a", 1, START + (uint64_t)i);
	}
	/* The longest without a move, although it moved just now. */
	places_move(&world.held[1], PLACE_MOVING, START + 10);
	assert_int_equal(victim("c", 1, START + 11), 2);
	assert_int_equal(victim("b", 1, START + 11), 2);
}

static void no_peer_gets_more_than_the_one_that_gives_way_keeps(void **state)
{
	(void)state;
	hold(0, "a", 1, START);
	hold(1, "a", 1, START);
	hold(2, "b", 1, START);
	hold(3, "b", 1, START);
	assert_int_equal(victim("a", 1, START), -1);
	assert_int_equal(victim("c", 2, START), -1);
	assert_int_equal(victim("c", 1, START), 0);
	places_remove(&world.places, &world.held[1]);
	hold(1, "c", 1, START);
	assert_int_equal(victim("a", 1, START), -1);
}

static void a_peer_that_does_not_move_gives_way_to_everybody(void **state)
{
	(void)state;
	hold(0, "a", 1, START + 5);
	hold(1, "b", 1, START);
	hold(2, "c", 1, START + 7);
	hold(3, "c", 1, START + 6);
	assert_int_equal(victim("b", 1, START + PLACES_STALLED_US - 1), -1);
	assert_int_equal(victim("d", 9, START + PLACES_STALLED_US), 1);
	assert_int_equal(victim("d", 9, START + PLACES_STALLED_US + 9), 1);
	/* First the newcomer's own. */
	assert_int_equal(victim("c", 9, START + PLACES_STALLED_US + 9), 3);
}

static void an_idle_place_needs_no_time_to_give_way(void **state)
{
	(void)state;
	hold(0, "a", 1, START);
	hold(1, "a", 1, START);
	places_move(&world.held[1], PLACE_IDLE, START + 1);
	assert_int_equal(victim("a", 1, START + 1), 1);
	assert_int_equal(victim("b", 9, START + 1), 1);
}

static void a_fixed_place_never_gives_way(void **state)
{
	(void)state;
	hold(0, "a", 1, START);
	hold(1, "a", 1, START);
	hold(2, "b", 1, START);
	places_move(&world.held[0], PLACE_FIXED, START);
	places_move(&world.held[1], PLACE_FIXED, START);
	places_move(&world.held[2], PLACE_FIXED, START);
	assert_int_equal(victim("c", 1, START + 100 * SECOND), -1);
	places_move(&world.held[1], PLACE_MOVING, START);
	assert_int_equal(victim("c", 1, START), 1);
}

static void a_place_that_waits_for_this_process_is_not_stalled(void **state)
{
	(void)state;
	hold(0, "a", 1, START);
	hold(1, "a", 1, START);
	places_move(&world.held[0], PLACE_WAITING, START);
	places_move(&world.held[1], PLACE_WAITING, START + 1);
	assert_int_equal(victim("a", 1, START + 100 * SECOND), -1);
	assert_int_equal(victim("b", 1, START), 0);
}

static void a_large_place_counts_by_its_size(void **state)
{
	(void)state;
	hold(0, "a", 3, START + 1);
	hold(1, "a", 1, START);
	hold(2, "b", 1, START);
	/* The smaller one is older and leaves enough to a. */
	assert_int_equal(victim("c", 2, START + 1), 1);
	places_remove(&world.places, &world.held[1]);
	assert_int_equal(victim("c", 2, START + 1), -1);
}

static void knows_who_holds_the_most(void **state)
{
	(void)state;
	hold(0, "a", 2, START);
	hold(1, "b", 1, START);
	assert_true(places_is_most(&world.held[0], &world.places));
	assert_false(places_is_most(&world.held[1], &world.places));
	hold(2, "b", 1, START);
	assert_true(places_is_most(&world.held[1], &world.places));
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_place_that_was_removed_begins_anew),
		test(a_single_place_may_be_larger_than_all),
		test(the_peer_with_the_most_gives_way_to_one_with_less),
		test(no_peer_gets_more_than_the_one_that_gives_way_keeps),
		test(a_peer_that_does_not_move_gives_way_to_everybody),
		test(an_idle_place_needs_no_time_to_give_way),
		test(a_fixed_place_never_gives_way),
		test(a_place_that_waits_for_this_process_is_not_stalled),
		test(a_large_place_counts_by_its_size),
		test(knows_who_holds_the_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
