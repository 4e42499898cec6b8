#include "scheduler/rebalance/pressure_watch.h"

#include <stdio.h>

#include "lib/memory.h"
#include "tests/unit/scheduler/given.h"

static const int64_t second = 1000000;
static const double gib = 1 << 30;

static int setup(void **state)
{
	*state = xcalloc(1, sizeof(struct pressure_watch));
	return 0;
}

static int teardown(void **state)
{
	pressure_watch_fini(*state);
	free(*state);
	return 0;
}

/* 64 GiB, of which 6 are available. */
static struct node_load quiet_load(void)
{
	struct node_load load = given_load(1, 58.0 * (1 << 30));

	load.memory_pressure_full_60s = 0;
	load.io_pressure_full_60s = 0;
	return load;
}

static void note(struct pressure_watch *watch, struct node_load load,
	int64_t at_s)
{
	pressure_watch_note(watch, &load, at_s * second);
}

static void note_from(struct pressure_watch *watch, struct node_load load,
	int64_t from_s, int64_t to_s)
{
	for (int64_t at = from_s; at <= to_s; at += 10) {
		note(watch, load, at);
	}
}

static bool is_sustained(const struct pressure_watch *watch,
	enum move_reason reason, int64_t now_s)
{
	return pressure_watch_is_sustained(watch, reason, now_s * second);
}

static void each_trouble_counts_after_a_minute(void **state)
{
	const struct {
		const char *what;
		size_t figure; /* offset in struct node_load */
		double value;
		bool is_trouble;
	} cases[] = {
#define FIGURE(name) #name, offsetof(struct node_load, name)
		{ FIGURE(memory_pressure_full_60s), 0.11, true },
		{ FIGURE(memory_pressure_full_60s), 0.09, false },
		{ FIGURE(memory_pressure_full_60s), (double)NAN, false },
		{ FIGURE(memory_swap_in_bytes_60s), 5e6, true },
		{ FIGURE(memory_swap_in_bytes_60s), 4e6, false },
		{ FIGURE(memory_available_bytes), 1.2 * gib, true },
		{ FIGURE(memory_available_bytes), 1.4 * gib, false },
		{ FIGURE(memory_available_bytes), (double)NAN, false },
#undef FIGURE
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct pressure_watch watch = { 0 };
		struct node_load load = quiet_load();

		memcpy((char *)&load + cases[i].figure, &cases[i].value,
			sizeof(double));
		note_from(&watch, load, 100, 150);
		assert_false(is_sustained(&watch, MOVE_FOR_MEMORY, 150));
		note(&watch, load, 160);
		given_check(is_sustained(&watch, MOVE_FOR_MEMORY, 160) ==
				cases[i].is_trouble,
			cases[i].what);
		assert_false(is_sustained(&watch, MOVE_FOR_IO, 160));
		assert_false(is_sustained(&watch, MOVE_FOR_KVM, 160));
		pressure_watch_fini(&watch);
	}
}

static void a_load_without_the_trouble_ends_it(void **state)
{
	struct node_load load = quiet_load();

	load.memory_pressure_full_60s = 0.5;
	note_from(*state, load, 100, 150);
	note(*state, quiet_load(), 155);
	assert_false(pressure_watch_is_troubled(*state));
	note_from(*state, load, 160, 210);
	assert_false(is_sustained(*state, MOVE_FOR_MEMORY, 210));
	note(*state, load, 220);
	assert_true(is_sustained(*state, MOVE_FOR_MEMORY, 220));
}

static void a_short_gap_changes_nothing_and_a_long_one_starts_anew(void **state)
{
	struct node_load load = quiet_load();

	load.memory_pressure_full_60s = 0.5;
	note_from(*state, load, 100, 140);
	note(*state, load, 155);
	note(*state, load, 165);
	assert_true(is_sustained(*state, MOVE_FOR_MEMORY, 180));
	/* The newest load is stale now. */
	assert_false(is_sustained(*state, MOVE_FOR_MEMORY, 181));
	note_from(*state, load, 181, 231);
	assert_false(is_sustained(*state, MOVE_FOR_MEMORY, 231));
	/* Older than the newest: not a load of now. */
	note(*state, quiet_load(), 230);
	note(*state, load, 241);
	assert_true(is_sustained(*state, MOVE_FOR_MEMORY, 241));
}

static void an_ordered_move_starts_the_minute_anew(void **state)
{
	struct node_load load = quiet_load();

	load.memory_pressure_full_60s = 0.5;
	note_from(*state, load, 100, 200);
	pressure_watch_restart(*state, 205 * second);
	assert_false(is_sustained(*state, MOVE_FOR_MEMORY, 205));
	note_from(*state, load, 210, 260);
	assert_false(is_sustained(*state, MOVE_FOR_MEMORY, 260));
	note(*state, load, 270);
	assert_true(is_sustained(*state, MOVE_FOR_MEMORY, 270));
}

/* Tasks then wait in the limits of their own cgroups. */
static void waiting_on_a_node_with_ample_memory_is_no_shortage(void **state)
{
	struct node_load load = quiet_load();

	load.memory_pressure_full_60s = 0.9;
	load.memory_swap_in_bytes_60s = 1e9;
	load.memory_available_bytes = 16 * gib;
	note_from(*state, load, 100, 200);
	assert_false(pressure_watch_is_troubled(*state));
}

static void only_proven_faults_of_kvm_are_trouble(void **state)
{
	(void)state;
	for (int kvm = 0; kvm < KVM_STATES; kvm++) {
		struct pressure_watch watch = { 0 };
		struct node_load load = quiet_load();

		load.kvm_state = (enum kvm_state)kvm;
		note_from(&watch, load, 100, 215);
		assert_false(is_sustained(&watch, MOVE_FOR_KVM, 215));
		note(&watch, load, 220);
		assert_int_equal(is_sustained(&watch, MOVE_FOR_KVM, 220),
			kvm != KVM_OK && kvm != KVM_UNVERIFIED);
		pressure_watch_fini(&watch);
	}
}

static void one_vm_that_waits_for_io_competes_with_none(void **state)
{
	struct node_load load = quiet_load();
	struct vm_load vms[2];

	for (size_t i = 0; i < 2; i++) {
		vm_load_init(&vms[i]);
		(void)snprintf(vms[i].pod_uid, sizeof(vms[i].pod_uid), "%zu",
			9 - i);
	}
	vms[0].io_pressure = 0.8;
	load.vms = vms;
	load.vm_count = 2;
	load.io_pressure_full_60s = 0.6;
	note_from(*state, load, 100, 160);
	assert_false(pressure_watch_is_troubled(*state));
	assert_null(pressure_watch_find(*state, "9"));
	vms[1].io_pressure = 0.1;
	note_from(*state, load, 170, 230);
	assert_true(is_sustained(*state, MOVE_FOR_IO, 230));
	assert_true(pressure_watch_find(*state, "9")->io_pressure == 0.8);
	assert_true(pressure_watch_find(*state, "8")->io_pressure == 0.1);
	assert_true(pressure_watch_find(*state, "8")->swap_bytes == 0);
	assert_null(pressure_watch_find(*state, "7"));
}

static void assert_text(const struct node_load *load, enum move_reason reason,
	const char *text)
{
	char out[PRESSURE_TEXT_MAX];
	struct pressure_watch watch = { 0 };

	pressure_watch_note(&watch, load, second);
	pressure_watch_text(out, &watch, reason);
	assert_string_equal(out, text);
	pressure_watch_fini(&watch);
}

static void says_the_figure_in_words(void **state)
{
	struct node_load load = quiet_load();

	(void)state;
	load.memory_pressure_full_60s = 0.12;
	assert_text(&load, MOVE_FOR_MEMORY,
		"memory: in 12 % of the last minute all tasks waited for "
		"memory");
	load.memory_swap_in_bytes_60s = 20.0 * (1 << 20);
	assert_text(&load, MOVE_FOR_MEMORY,
		"memory: 20.0 MiB a second are read back from swap");
	load.memory_available_bytes = 100.0 * (1 << 20);
	assert_text(&load, MOVE_FOR_MEMORY,
		"memory: 100 MiB are available, less than 1311 MiB");
	load.io_pressure_full_60s = 0.456;
	assert_text(&load, MOVE_FOR_IO,
		"I/O: in 46 % of the last minute all tasks waited for I/O");
	load.kvm_state = KVM_RUN_FAILED;
	(void)snprintf(load.kvm_detail, sizeof(load.kvm_detail), "exit 17");
	assert_text(&load, MOVE_FOR_KVM, "KVM: run_failed, exit 17");
}

/* 2 %, at least 512 MiB, at most 10 %. */
static void the_floor_depends_on_the_size_of_the_node(void **state)
{
	(void)state;
	assert_true(pressure_floor_bytes(1024 * gib) == 0.02 * 1024 * gib);
	assert_true(pressure_floor_bytes(16 * gib) == gib / 2);
	assert_true(pressure_floor_bytes(2 * gib) == 0.1 * 2 * gib);
	assert_true(isnan(pressure_goal_bytes((double)NAN)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_trouble_counts_after_a_minute),
		cmocka_unit_test_setup_teardown(
			a_load_without_the_trouble_ends_it, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_short_gap_changes_nothing_and_a_long_one_starts_anew,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_ordered_move_starts_the_minute_anew, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			waiting_on_a_node_with_ample_memory_is_no_shortage,
			setup, teardown),
		cmocka_unit_test(only_proven_faults_of_kvm_are_trouble),
		cmocka_unit_test_setup_teardown(
			one_vm_that_waits_for_io_competes_with_none, setup,
			teardown),
		cmocka_unit_test(says_the_figure_in_words),
		cmocka_unit_test(the_floor_depends_on_the_size_of_the_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
