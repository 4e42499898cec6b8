#include "scheduler/rebalance/pressure.h"

#include "tests/support/golden.h"
#include "tests/unit/scheduler/rebalance/pressure_bed.h"

static const int64_t now_us = 200 * BED_SECOND;

/* The loads were the same for more than a minute. */
static void settle(struct bed *bed, const struct bed_node *nodes,
	size_t node_count, const struct bed_vm *vms, size_t vm_count)
{
	bed_open(bed);
	for (int64_t at_us = 80 * BED_SECOND; at_us <= now_us;
		at_us += 10 * BED_SECOND) {
		for (size_t i = 0; i < node_count; i++) {
			bed_note(bed, i, &nodes[i], vms, vm_count, at_us);
		}
	}
	bed_fleet(bed, nodes, node_count, vms, vm_count);
}

#define SETTLE(bed, nodes, vms)                                                \
	settle(bed, nodes, count_of(nodes), vms, count_of(vms))

/* n0 lacks 3.5 GiB: VM 2 ends that with the least copy. */
static const struct bed_node short_nodes[] = { { .available_gib = 1 },
	{ .cores = 10 }, { .cores = 2 }, { .cores = 10 } };
static const struct bed_vm short_vms[] = { { .gib = 16 }, { .gib = 8 },
	{ .gib = 4 }, { .gib = 1 }, { .node = 1, .gib = 4 } };

static void the_vm_that_relieves_most_for_each_gb_leaves(void **state)
{
	struct bed bed;
	struct pressure_move move;

	(void)state;
	SETTLE(&bed, short_nodes, short_vms);
	assert_true(bed_search(&bed, now_us, &move));
	assert_int_equal(move.move.vm, 2);
	assert_int_equal(move.reason, MOVE_FOR_MEMORY);
	assert_false(move.is_recommendation_only);
	assert_true(move.copied_bytes == 4 * BED_GIB);
	assert_true(fabs(move.relief - 3.48 * BED_GIB) < 1e-6 * BED_GIB);
	assert_true(fabs(move.relief_per_gb * (move.copied_bytes / 1e9 + 1) -
			    move.relief) < 1);
	assert_string_equal(move.text,
		"memory: 1024 MiB are available, less than 1311 MiB");
	bed_close(&bed);
}

/* The least growth of expected CPU shortage, not the first node. */
static void the_target_is_the_node_with_most_cpu_to_spare(void **state)
{
	struct bed bed;
	struct pressure_move move;

	(void)state;
	SETTLE(&bed, short_nodes, short_vms);
	bed.fleet.vms[2].cores = 4;
	assert_true(bed_search(&bed, now_us, &move));
	assert_int_equal(move.move.target, 2);
	assert_true(move.move.target_after >= move.move.target_before);
	bed.forbidden = 2;
	assert_true(bed_search(&bed, now_us, &move));
	assert_int_equal(move.move.target, 3);
	bed.fleet.nodes[3].may_take = false;
	assert_true(bed_search(&bed, now_us, &move));
	assert_int_equal(move.move.target, 1);
	bed.fleet.nodes[1].may_take = false;
	assert_false(bed_search(&bed, now_us, &move));
	bed_close(&bed);
}

static void a_vm_that_waits_and_swaps_leaves_before_its_equal(void **state)
{
	static const struct bed_node nodes[] = {
		{ .available_gib = 2, .memory_full = 0.3 }, { .cores = 0 }
	};
	static const struct bed_vm vms[] = { { .gib = 8 },
		{ .gib = 8, .memory_pressure = 0.4 },
		{ .gib = 8, .memory_pressure = 0.1 } };
	static const struct bed_vm swapped[] = { { .gib = 8 }, { .gib = 8 },
		{ .gib = 8, .swap_gib = 6 } };
	struct bed bed;
	struct pressure_move move;

	(void)state;
	SETTLE(&bed, nodes, vms);
	assert_true(bed_search(&bed, now_us, &move));
	assert_int_equal(move.move.vm, 1);
	assert_true(fabs(move.severity - 3) < 1e-9);
	bed_close(&bed);
	SETTLE(&bed, nodes, swapped);
	assert_true(bed_search(&bed, now_us, &move));
	assert_int_equal(move.move.vm, 2);
	bed_close(&bed);
}

/* The target needs 4.5 GiB beside the VM's memory and swap. */
static void the_target_keeps_memory_and_is_not_in_trouble(void **state)
{
	static const struct {
		struct bed_node target;
		bool is_good;
	} cases[] = {
		{ { .available_gib = 15 }, true },
		{ { .available_gib = 14 }, false },
		{ { .available_gib = 15, .memory_full = 0.11 }, false },
		{ { .available_gib = 40, .kvm_state = KVM_MISSING }, false },
	};
	static const struct bed_vm vms[] = { { .gib = 8, .swap_gib = 2 } };

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		const struct bed_node nodes[] = { { .available_gib = 1 },
			cases[i].target };
		struct bed bed;
		struct pressure_move move;

		SETTLE(&bed, nodes, vms);
		assert_int_equal(bed_search(&bed, now_us, &move),
			cases[i].is_good);
		bed_close(&bed);
	}
}

static void nothing_moves_without_fresh_data(void **state)
{
	struct bed bed;
	struct pressure_move move;

	(void)state;
	SETTLE(&bed, short_nodes, short_vms);
	assert_true(bed_search(&bed, now_us + 15 * BED_SECOND, &move));
	assert_false(bed_search(&bed, now_us + 16 * BED_SECOND, &move));
	bed.nodes[1].metrics.sample_us -= 16 * BED_SECOND;
	bed.nodes[2].metrics.sample_us -= 16 * BED_SECOND;
	bed.nodes[3].metrics.sample_us -= 16 * BED_SECOND;
	assert_false(bed_search(&bed, now_us, &move));
	bed_close(&bed);
}

static void limits_of_the_caller_hold(void **state)
{
	struct bed bed;
	struct pressure_move move;

	(void)state;
	SETTLE(&bed, short_nodes, short_vms);
	bed.fleet.vms[2].may_move = false;
	assert_true(bed_search(&bed, now_us, &move));
	assert_int_not_equal(move.move.vm, 2);
	bed.fleet.nodes[0].may_give = false;
	assert_false(bed_search(&bed, now_us, &move));
	bed_close(&bed);
}

static void the_vm_that_waits_most_for_io_for_each_gb_leaves(void **state)
{
	static const struct bed_node nodes[] = { { .io_full = 0.6 },
		{ .io_full = 0.5 }, { .cores = 0 } };
	static const struct bed_vm vms[] = { { .gib = 30, .io_pressure = 0.9 },
		{ .gib = 4, .io_pressure = 0.5 },
		{ .gib = 1, .io_pressure = 0.04 } };
	struct bed bed;
	struct pressure_move move;

	(void)state;
	SETTLE(&bed, nodes, vms);
	assert_true(bed_search(&bed, now_us, &move));
	assert_int_equal(move.move.vm, 1);
	/* n1 is not in trouble, but waits for I/O, too. */
	assert_int_equal(move.move.target, 2);
	assert_int_equal(move.reason, MOVE_FOR_IO);
	assert_string_equal(move.text,
		"I/O: in 60 % of the last minute all tasks waited for I/O");
	bed_close(&bed);
}

static void a_broken_kvm_is_recommended_only_and_comes_last(void **state)
{
	static const struct bed_node nodes[] = {
		{ .kvm_state = KVM_CREATE_FAILED }, { .available_gib = 1 },
		{ .cores = 0 }
	};
	static const struct bed_vm vms[] = { { .gib = 8 }, { .gib = 2 },
		{ .node = 1, .gib = 4 } };
	struct bed bed;
	struct pressure_move move;

	(void)state;
	SETTLE(&bed, nodes, vms);
	assert_true(bed_search(&bed, now_us, &move));
	assert_int_equal(move.reason, MOVE_FOR_MEMORY);
	assert_int_equal(move.move.vm, 2);
	bed.fleet.nodes[1].may_give = false;
	assert_true(bed_search(&bed, now_us, &move));
	assert_int_equal(move.reason, MOVE_FOR_KVM);
	assert_true(move.is_recommendation_only);
	assert_int_equal(move.move.vm, 1);
	assert_string_equal(move.text, "KVM: create_failed");
	bed_close(&bed);
}

static void the_gravest_trouble_comes_first_in_any_slices(void **state)
{
	static const struct bed_node nodes[] = { { .available_gib = 2,
							 .memory_full = 0.2 },
		{ .available_gib = 2, .memory_full = 0.3 },
		{ .available_gib = 2, .memory_full = 0.3 }, { .cores = 0 } };
	static const struct bed_vm vms[] = { { .gib = 4 },
		{ .node = 1, .gib = 4 }, { .node = 2, .gib = 4 } };
	struct pressure_search search = { 0 };
	struct bed bed;
	const struct pressure_options options = { bed_watch, bed_may_run,
		&bed };
	size_t slices = 1;

	(void)state;
	SETTLE(&bed, nodes, vms);
	while (!pressure_search(&search, &bed.fleet, &options, now_us, 1)) {
		slices++;
	}
	assert_int_equal(slices, 4);
	assert_true(search.has_best);
	assert_int_equal(search.best.move.vm, 1);
	bed_close(&bed);
}

/* The best VM finds no target, the next one does. */
static void a_vm_without_a_target_gives_way_to_the_next(void **state)
{
	static const struct bed_node nodes[] = { { .available_gib = 1 },
		{ .available_gib = 7 } };
	struct bed bed;
	struct pressure_move move;

	(void)state;
	SETTLE(&bed, nodes, short_vms);
	assert_true(bed_search(&bed, now_us, &move));
	assert_int_equal(move.move.vm, 3);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		golden_test(the_vm_that_relieves_most_for_each_gb_leaves, NULL,
			golden_end),
		golden_test(the_target_is_the_node_with_most_cpu_to_spare, NULL,
			golden_end),
		golden_test(a_vm_that_waits_and_swaps_leaves_before_its_equal,
			NULL, golden_end),
		golden_test(the_target_keeps_memory_and_is_not_in_trouble, NULL,
			golden_end),
		golden_test(nothing_moves_without_fresh_data, NULL, golden_end),
		golden_test(limits_of_the_caller_hold, NULL, golden_end),
		golden_test(the_vm_that_waits_most_for_io_for_each_gb_leaves,
			NULL, golden_end),
		golden_test(a_broken_kvm_is_recommended_only_and_comes_last,
			NULL, golden_end),
		golden_test(the_gravest_trouble_comes_first_in_any_slices, NULL,
			golden_end),
		golden_test(a_vm_without_a_target_gives_way_to_the_next, NULL,
			golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
