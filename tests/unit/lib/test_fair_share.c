#include "lib/fair_share.h"

#include "lib/hash.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

enum { MAX = 4, HELD = 20 };

#define SECOND UINT64_C(1000000)
#define START (100 * SECOND)

static struct {
	struct fair_share share;
	struct seat *held[HELD];
	size_t small; /* smaller seats are reserved */
} world;

static int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.share.limits.max = MAX;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < HELD; i++) {
		seat_remove(world.held[i]);
	}
	assert_true(LIST_EMPTY(&world.share.flows));
	assert_int_equal(world.share.held[0] + world.share.held[1], 0);
	return 0;
}

/* With nothing held yet. */
static void limit(struct fair_share_limits limits)
{
	world.share.limits = limits;
}

static void take(int i, struct seat_request request)
{
	request.owner = &world.held[i];
	world.held[i] = fair_share_add(&world.share, &request);
}

static struct seat_request request_of(const char *peer, size_t size,
	uint64_t now_us)
{
	return (struct seat_request){ .flow = hash_text(HASH_SEED, peer),
		.size = size,
		.is_reserved = size < world.small,
		.now_us = now_us };
}

static void hold(int i, const char *peer, size_t size, uint64_t now_us)
{
	take(i, request_of(peer, size, now_us));
}

static void move(int i, enum seat_state seat_state, uint64_t now_us)
{
	seat_move(world.held[i], seat_state, now_us);
}

static void leave(int i)
{
	seat_remove(take_ptr(world.held[i]));
}

static int check(struct seat_request request)
{
	struct seat *seat;

	return fair_share_check(&world.share, &request, &seat);
}

static bool fits(const char *peer, size_t size)
{
	return check(request_of(peer, size, START)) == 0;
}

/* The index of the seat that gives way, or -1. */
static int victim_of(struct seat_request request)
{
	struct seat *seat;

	assert_int_not_equal(fair_share_check(&world.share, &request, &seat),
		0);
	return seat == NULL
		? -1
		: (int)((struct seat **)seat_owner(seat) - world.held);
}

static int victim(const char *peer, size_t size, uint64_t now_us)
{
	return victim_of(request_of(peer, size, now_us));
}

static void a_single_seat_may_be_larger_than_all(void **state)
{
	(void)state;
	assert_true(fits("a", 100));
	hold(0, "a", 1, START);
	assert_true(fits("b", MAX - 1));
	assert_false(fits("b", MAX));
	assert_int_equal(victim("b", SIZE_MAX, START), -1);
	assert_int_equal(victim("a", SIZE_MAX, START), -1);
}

static void the_peer_with_the_most_gives_way_to_one_with_less(void **state)
{
	(void)state;
	hold(0, "b", 1, START);
	for (int i = 1; i < 4; i++) {
		hold(i, "a", 1, START + (uint64_t)i);
	}
	/* The longest without a move, although it moved just now. */
	move(1, SEAT_ACTIVE, START + 10);
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
	leave(1);
	hold(1, "c", 1, START);
	assert_int_equal(victim("a", 1, START), -1);
}

static void a_peer_that_does_not_move_gives_way_to_everybody(void **state)
{
	(void)state;
	hold(1, "b", 1, START);
	hold(0, "a", 1, START + 5);
	hold(3, "c", 1, START + 6);
	hold(2, "c", 1, START + 7);
	assert_int_equal(victim("b", 1, START + SEAT_STALLED_US - 1), -1);
	assert_int_equal(victim("d", 9, START + SEAT_STALLED_US), 1);
	assert_int_equal(victim("d", 9, START + SEAT_STALLED_US + 9), 1);
	/* By a clock that was read before the last move. */
	assert_int_equal(victim("d", 9, START - 1), -1);
	/* First the newcomer's own. */
	assert_int_equal(victim("c", 9, START + SEAT_STALLED_US + 9), 3);
}

static void an_idle_seat_needs_no_time_to_give_way(void **state)
{
	(void)state;
	limit((struct fair_share_limits){ .max = 2 });
	hold(0, "a", 1, START);
	hold(1, "a", 1, START);
	move(1, SEAT_IDLE, START + 1);
	assert_int_equal(victim("a", 1, START + 1), 1);
	assert_int_equal(victim("b", 9, START + 1), 1);
}

static void a_fixed_seat_never_gives_way(void **state)
{
	(void)state;
	limit((struct fair_share_limits){ .max = 3 });
	hold(0, "a", 1, START);
	hold(1, "a", 1, START);
	hold(2, "b", 1, START);
	move(0, SEAT_FIXED, START);
	move(1, SEAT_FIXED, START);
	move(2, SEAT_FIXED, START);
	assert_int_equal(victim("c", 1, START + 100 * SECOND), -1);
	move(1, SEAT_ACTIVE, START);
	assert_int_equal(victim("c", 1, START), 1);
}

static void a_seat_that_waits_for_this_process_is_not_stalled(void **state)
{
	(void)state;
	limit((struct fair_share_limits){ .max = 2 });
	hold(0, "a", 1, START);
	hold(1, "a", 1, START);
	move(0, SEAT_WAITING, START);
	move(1, SEAT_WAITING, START + 1);
	assert_int_equal(victim("a", 1, START + 100 * SECOND), -1);
	assert_int_equal(victim("b", 1, START), 0);
}

static void a_large_seat_counts_by_its_size(void **state)
{
	(void)state;
	hold(0, "a", 3, START + 1);
	hold(1, "a", 1, START);
	hold(2, "b", 1, START);
	/* The smaller one is older and leaves enough to a. */
	assert_int_equal(victim("c", 2, START + 1), 1);
	leave(1);
	assert_int_equal(victim("c", 2, START + 1), -1);
}

static void a_seat_twice_as_large_as_the_newcomer_gives_way(void **state)
{
	(void)state;
	limit((struct fair_share_limits){ .max = 10 });
	hold(0, "a", 5, START);
	hold(1, "b", 5, START);
	assert_int_equal(victim("c", 3, START + 1), -1);
	assert_int_equal(victim("c", 2, START + 1), 0);
	/* The seats of a peer count together. */
	leave(1);
	hold(1, "c", 1, START);
	hold(2, "b", 4, START);
	assert_int_equal(victim("c", 1, START + 1), 0);
	assert_int_equal(victim("c", 2, START + 1), -1);
	move(0, SEAT_FIXED, START);
	assert_int_equal(victim("c", 1, START + 1), 2);
}

static void knows_who_holds_the_most(void **state)
{
	(void)state;
	hold(0, "a", 2, START);
	hold(1, "b", 1, START);
	assert_true(seat_is_of_largest_flow(world.held[0]));
	assert_false(seat_is_of_largest_flow(world.held[1]));
	hold(2, "b", 1, START);
	assert_true(seat_is_of_largest_flow(world.held[1]));
}

/* ---- ties ---- */

static void of_seats_that_moved_at_one_time_the_first_gives_way(void **state)
{
	(void)state;
	hold(0, "a", 1, START);
	hold(1, "b", 1, START);
	hold(2, "a", 1, START);
	hold(3, "b", 1, START);
	assert_int_equal(victim("c", 1, START), 0);
	move(0, SEAT_ACTIVE, START);
	assert_int_equal(victim("c", 1, START), 1);
	move(1, SEAT_WAITING, START);
	assert_int_equal(victim("c", 1, START), 2);
}

/* ---- seats that yield, and new ones ---- */

static void a_yielding_seat_gives_way_to_every_newcomer(void **state)
{
	(void)state;
	for (int i = 0; i < MAX; i++) {
		hold(i, i == 0 ? "b" : "a", 1, START + (uint64_t)i);
		move(i, SEAT_YIELDING, START + (uint64_t)i);
	}
	assert_int_equal(victim("a", 1, START + 9), 1);
	assert_int_equal(victim("c", 9, START + 9), 1);
	leave(1);
	leave(2);
	hold(1, "c", 1, START + 9);
	hold(2, "d", 1, START + 9);
	assert_int_equal(victim("b", 1, START + 9), 0);
}

static void a_new_seat_gives_way_to_its_own_flow_without_more(void **state)
{
	(void)state;
	limit((struct fair_share_limits){ .max = 2 });
	hold(0, "a", 1, START);
	hold(1, "b", 1, START);
	move(0, SEAT_NEW, START);
	assert_int_equal(victim("a", 1, START), 0);
	assert_int_equal(victim("c", 1, START + 9 * SECOND), 1);
	move(1, SEAT_WAITING, START);
	assert_int_equal(victim("c", 1, START + 9 * SECOND), -1);
}

static void new_seats_give_way_before_the_rest_of_their_flow(void **state)
{
	(void)state;
	for (int i = 0; i < MAX; i++) {
		hold(i, i == 3 ? "b" : "a", 1, START);
		move(i, i == 1 ? SEAT_NEW : SEAT_WAITING, START + (uint64_t)i);
	}
	move(3, SEAT_NEW, START);
	assert_int_equal(victim("c", 1, START), 1);
	leave(1);
	hold(1, "d", 1, START);
	assert_int_equal(victim("c", 1, START), 0);
}

/* ---- a limit for each flow ---- */

static void a_flow_at_its_limit_displaces_only_itself(void **state)
{
	const struct seat_request request = request_of("a", 1, START);

	(void)state;
	limit((struct fair_share_limits){ .max = MAX, .flow_max = 2 });
	hold(0, "b", 1, START);
	hold(1, "a", 1, START);
	move(0, SEAT_IDLE, START);
	assert_true(fits("a", 1));
	hold(2, "a", 1, START);
	move(2, SEAT_IDLE, START + 1);
	assert_int_equal(check(request), -EUSERS);
	assert_int_equal(victim_of(request), 2);
	move(2, SEAT_FIXED, START);
	assert_int_equal(victim_of(request), -1);
	/* The others have room. */
	assert_true(fits("b", 1));
	hold(3, "c", 1, START);
	assert_int_equal(check(request_of("c", 1, START)), -EBUSY);
}

/* ---- the reserve ---- */

static void limit_with_reserve(void)
{
	limit((struct fair_share_limits){ .max = 10, .reserve = 4 });
	world.small = 2;
}

static void only_small_and_privileged_seats_get_the_reserve(void **state)
{
	struct seat_request privileged = request_of("c", 4, START);

	(void)state;
	limit_with_reserve();
	privileged.is_reserved = true;
	hold(0, "a", 2, START);
	assert_true(fits("b", 4));
	assert_false(fits("b", 5));
	/* A seat may be partly in the reserve. */
	privileged.size = 8;
	assert_int_equal(check(privileged), 0);
	privileged.size = 9;
	assert_int_equal(check(privileged), -EBUSY);
	hold(1, "a", 4, START);
	assert_false(fits("b", 2));
	assert_true(fits("b", 1));
	privileged.size = 4;
	assert_int_equal(check(privileged), 0);
	privileged.size = 5;
	assert_int_equal(check(privileged), -EBUSY);
	hold(2, "b", 1, START);
	privileged.size = 4;
	assert_int_equal(check(privileged), -EBUSY);
	privileged.size = 3;
	take(3, privileged);
	assert_false(fits("b", 1));
}

static void small_seats_fill_the_reserve_before_the_rest(void **state)
{
	(void)state;
	limit_with_reserve();
	for (int i = 0; i < 4; i++) {
		hold(i, "a", 1, START);
	}
	hold(4, "b", 2, START);
	assert_true(fits("b", 4));
	hold(5, "a", 1, START);
	assert_false(fits("b", 4));
	assert_true(fits("b", 3));
	leave(0);
	assert_true(fits("b", 4));
}

static void a_seat_larger_than_all_leaves_the_reserve(void **state)
{
	(void)state;
	limit_with_reserve();
	hold(0, "a", 100, START);
	for (int i = 1; i <= 4; i++) {
		assert_true(fits("b", 1));
		hold(i, "b", 1, START);
	}
	assert_false(fits("b", 1));
}

static void the_reserve_does_not_give_way_to_other_seats(void **state)
{
	struct seat_request privileged = request_of("c", 2, START + 9);

	(void)state;
	limit_with_reserve();
	for (int i = 0; i < 4; i++) {
		hold(i, "a", 1, START);
		move(i, SEAT_IDLE, START + (uint64_t)i);
	}
	hold(4, "b", 5, START);
	move(4, SEAT_FIXED, START);
	assert_int_equal(victim("c", 2, START + 9), -1);
	privileged.is_reserved = true;
	assert_int_equal(victim_of(privileged), 0);
	hold(5, "d", 1, START);
	assert_int_equal(victim("c", 1, START + 9), 0);
	/* Now small seats hold more than the reserve. */
	assert_int_equal(victim("c", 2, START + 9), 0);
	leave(0);
	assert_int_equal(victim("c", 2, START + 9), -1);
}

/* ---- flows ---- */

static void flows_of_one_bucket_are_told_apart(void **state)
{
	struct seat_request request = { .flow = 7, .size = 3 };

	(void)state;
	take(0, request);
	request.flow += FAIR_SHARE_BUCKETS;
	request.size = 1;
	take(1, request);
	assert_true(seat_is_of_largest_flow(world.held[0]));
	assert_false(seat_is_of_largest_flow(world.held[1]));
	leave(0);
	assert_true(seat_is_of_largest_flow(world.held[1]));
}

/* ---- what a call costs ---- */

enum { MANY = 1000, FLOWS = 4 };

static size_t steps_since(size_t *before)
{
	size_t steps = world.share.steps - *before;

	*before = world.share.steps;
	return steps;
}

static void a_call_costs_the_same_however_many_seats_a_flow_has(void **state)
{
	struct seat *seats[MANY], *victim;
	struct seat_request request = { .size = 1, .now_us = START };
	size_t before;

	(void)state;
	limit((struct fair_share_limits){ .max = MANY });
	before = world.share.steps;
	for (size_t i = 0; i < MANY; i++) {
		request.flow = i % FLOWS;
		request.state = (enum seat_state)(i / FLOWS % SEAT_STATES);
		request.now_us = START + i;
		seats[i] = fair_share_add(&world.share, &request);
		assert_true(steps_since(&before) <= 1);
	}
	for (size_t i = 0; i <= FLOWS; i++) {
		request.flow = i;
		assert_int_equal(
			fair_share_check(&world.share, &request, &victim),
			-EBUSY);
		assert_true(steps_since(&before) <= (size_t)6 * FLOWS);
	}
	for (size_t i = 0; i < MANY; i++) {
		seat_move(seats[i], SEAT_FIXED, START + MANY + i);
		seat_remove(seats[i]);
		assert_true(steps_since(&before) <= 1);
	}
}

static void a_search_among_sizes_looks_at_each_seat_at_most_once(void **state)
{
	struct seat *seats[MANY], *victim;
	struct seat_request request = request_of("a", 0, START);
	size_t before;

	(void)state;
	limit((struct fair_share_limits){ .max = MANY });
	for (size_t i = 0; i < MANY; i++) {
		request.size = MANY - i;
		seats[i] = fair_share_add(&world.share, &request);
	}
	request.flow++;
	request.size = world.share.held[0] - 1;
	before = world.share.steps;
	assert_int_equal(fair_share_check(&world.share, &request, &victim),
		-EBUSY);
	/* The last one alone is small enough. */
	assert_ptr_equal(victim, seats[MANY - 1]);
	assert_int_equal(steps_since(&before), 1 + MANY);
	for (size_t i = 0; i < MANY; i++) {
		seat_remove(seats[i]);
	}
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_single_seat_may_be_larger_than_all),
		test(the_peer_with_the_most_gives_way_to_one_with_less),
		test(no_peer_gets_more_than_the_one_that_gives_way_keeps),
		test(a_peer_that_does_not_move_gives_way_to_everybody),
		test(an_idle_seat_needs_no_time_to_give_way),
		test(a_fixed_seat_never_gives_way),
		test(a_seat_that_waits_for_this_process_is_not_stalled),
		test(a_large_seat_counts_by_its_size),
		test(a_seat_twice_as_large_as_the_newcomer_gives_way),
		test(knows_who_holds_the_most),
		test(of_seats_that_moved_at_one_time_the_first_gives_way),
		test(a_yielding_seat_gives_way_to_every_newcomer),
		test(a_new_seat_gives_way_to_its_own_flow_without_more),
		test(new_seats_give_way_before_the_rest_of_their_flow),
		test(a_flow_at_its_limit_displaces_only_itself),
		test(only_small_and_privileged_seats_get_the_reserve),
		test(small_seats_fill_the_reserve_before_the_rest),
		test(a_seat_larger_than_all_leaves_the_reserve),
		test(the_reserve_does_not_give_way_to_other_seats),
		test(flows_of_one_bucket_are_told_apart),
		test(a_call_costs_the_same_however_many_seats_a_flow_has),
		test(a_search_among_sizes_looks_at_each_seat_at_most_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
