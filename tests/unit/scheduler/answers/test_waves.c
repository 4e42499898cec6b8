#include "scheduler/answers/waves.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

static const struct migration_limits limits = { .per_cluster = 3,
	.out_of_node = 2 };

static struct plan_step move(size_t source, size_t target)
{
	return (struct plan_step){ .kind = PLAN_MOVE,
		.source = source,
		.target = target };
}

static void moves_of_a_node_go_two_at_a_time(void **state)
{
	const struct plan_step steps[] = { move(0, 1), move(0, 2), move(0, 3),
		move(0, 1), move(0, 2) };
	unsigned waves[count_of(steps)];
	const unsigned expected[] = { 1, 1, 2, 2, 3 };

	(void)state;
	assert_int_equal(waves_assign(waves, steps, count_of(steps), &limits),
		3);
	assert_memory_equal(waves, expected, sizeof(waves));
}

static void a_wave_has_as_many_moves_as_the_cluster_allows(void **state)
{
	const struct plan_step steps[] = { move(0, 9), move(1, 9), move(2, 9),
		move(3, 9) };
	unsigned waves[count_of(steps)];
	const unsigned expected[] = { 1, 1, 1, 2 };

	(void)state;
	assert_int_equal(waves_assign(waves, steps, count_of(steps), &limits),
		2);
	assert_memory_equal(waves, expected, sizeof(waves));
}

static void a_move_waits_for_the_one_that_makes_its_room(void **state)
{
	const struct plan_step steps[] = { move(1, 2), move(0, 1), move(3, 2) };
	unsigned waves[count_of(steps)];
	const unsigned expected[] = { 1, 2, 2 };

	(void)state;
	assert_int_equal(waves_assign(waves, steps, count_of(steps), &limits),
		2);
	assert_memory_equal(waves, expected, sizeof(waves));
}

static void a_vm_that_starts_takes_no_place_of_a_move(void **state)
{
	struct plan_step steps[] = { move(0, 1), move(9, 5), move(9, 0),
		move(9, 5) };
	unsigned waves[count_of(steps)];
	const unsigned expected[] = { 1, 1, 2, 1 };

	(void)state;
	steps[1].kind = PLAN_START;
	steps[2].kind = PLAN_START;
	steps[3].kind = PLAN_START;
	assert_int_equal(waves_assign(waves, steps, count_of(steps), &limits),
		2);
	assert_memory_equal(waves, expected, sizeof(waves));
}

static void limits_of_nothing_let_one_move_at_a_time(void **state)
{
	const struct plan_step steps[] = { move(0, 9), move(1, 9) };
	unsigned waves[count_of(steps)];

	(void)state;
	assert_int_equal(waves_assign(waves, steps, count_of(steps),
				 &(const struct migration_limits){ 0 }),
		2);
	assert_int_equal(waves_assign(waves, steps, 0, &limits), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves_of_a_node_go_two_at_a_time),
		cmocka_unit_test(
			a_wave_has_as_many_moves_as_the_cluster_allows),
		cmocka_unit_test(a_move_waits_for_the_one_that_makes_its_room),
		cmocka_unit_test(a_vm_that_starts_takes_no_place_of_a_move),
		cmocka_unit_test(limits_of_nothing_let_one_move_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
