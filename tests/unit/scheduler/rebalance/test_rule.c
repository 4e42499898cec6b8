#include "scheduler/rebalance/rule.h"

#include <math.h>
#include <stdio.h>

#include "scheduler/forecast/model.h"
#include "scheduler/forecast/shortage.h"
#include "scheduler/rebalance/move_policy.h"
#include "tests/support/golden.h"
#include "tests/unit/scheduler/given.h"

enum { NODES = 12, VMS_MAX = 80 };

/* Nodes and pods without more than a name. */
struct bed {
	struct fleet fleet;
	struct node nodes[NODES];
	struct pod pods[VMS_MAX];
	size_t forbidden; /* a node, or SIZE_MAX */
	size_t asked;
};

static char node_names[NODES][16];
static char vm_names[VMS_MAX][16];
static char namespace[] = "n";

static double no_time(void *owner, const struct fleet_vm *vm)
{
	(void)owner;
	(void)vm;
	return 0;
}

static double by_memory(void *owner, const struct fleet_vm *vm)
{
	(void)owner;
	return vm->memory_bytes / 1e9;
}

static bool may_run(void *owner, const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	struct bed *bed = owner;

	(void)vm;
	bed->asked++;
	return bed->forbidden == SIZE_MAX ||
		target->node != &bed->nodes[bed->forbidden];
}

static struct rule_options options_of(struct bed *bed)
{
	return (struct rule_options){ .price = RULE_PRICE,
		.copy_seconds = no_time,
		.may_run = may_run,
		.owner = bed };
}

static struct fleet_node *add_node(struct bed *bed, double cores)
{
	size_t i = bed->fleet.node_count;

	(void)snprintf(node_names[i], sizeof(node_names[i]), "node-%02zu", i);
	bed->nodes[i] = (struct node){ .name = node_names[i] };
	return fleet_add_node(&bed->fleet, &bed->nodes[i], cores, 0);
}

/* A VM that strays by a tenth of its vCPUs. */
static struct fleet_vm *add_vm(struct bed *bed, double vcpus, double cores)
{
	size_t i = bed->fleet.vm_count;
	double variance = vcpus * vcpus / 100;

	(void)snprintf(vm_names[i], sizeof(vm_names[i]), "vm-%02zu", i);
	bed->pods[i] = (struct pod){ .namespace = namespace,
		.vm_name = vm_names[i],
		.name = vm_names[i] };
	return fleet_add_vm(&bed->fleet,
		&(struct fleet_vm){ .pod = &bed->pods[i],
			.vcpus = vcpus,
			.cores = cores,
			.variance = variance,
			.third = variance * vcpus,
			.used_cores = cores,
			.memory_bytes = 4e9,
			.may_move = true });
}

static void open_bed(struct bed *bed)
{
	*bed = (struct bed){ .forbidden = SIZE_MAX };
}

/* One hot node with VMs of 8 and 2 vCPUs, and two idle nodes. */
static void open_hot_bed(struct bed *bed)
{
	open_bed(bed);
	(void)add_node(bed, 16);
	(void)add_vm(bed, 8, 6);
	(void)add_vm(bed, 8, 6);
	(void)add_vm(bed, 2, 1.5);
	(void)add_vm(bed, 2, 1.5);
	(void)add_node(bed, 16);
	(void)add_node(bed, 16);
}

static bool search_all(struct bed *bed, const struct rule_options *options,
	struct fleet_move *out)
{
	struct rule_search search = { 0 };
	bool has_best;

	assert_true(rule_search(&search, &bed->fleet, options, SIZE_MAX));
	*out = search.best;
	has_best = search.has_best;
	golden_tell("%d: %zu > %zu, gain %.6g\n", has_best, out->vm,
		out->target, out->gain);
	rule_search_fini(&search);
	return has_best;
}

static void a_hot_node_gives_and_an_idle_node_takes(void **state)
{
	struct bed bed;
	struct rule_options options = options_of(&bed);
	struct fleet_move move;

	(void)state;
	open_hot_bed(&bed);
	assert_true(search_all(&bed, &options, &move));
	assert_int_equal(move.vm, 0);
	assert_int_equal(move.target, 1);
	assert_true(fabs(move.source_before -
			    12 * bed.fleet.nodes[0].shortage) < 1e-9);
	assert_true(fabs(move.gain -
			    (move.source_before - move.source_after -
				    (move.target_after - move.target_before) -
				    RULE_PRICE)) < 1e-9);
	fleet_apply(&bed.fleet, &move);
	assert_false(bed.fleet.vms[0].may_move);
	assert_true(fabs(bed.fleet.nodes[0].mean - 9) < 1e-9);
	assert_true(fabs(bed.fleet.nodes[1].mean - 6) < 1e-9);
	assert_true(fabs(12 * bed.fleet.nodes[0].shortage - move.source_after) <
		1e-9);
	assert_false(search_all(&bed, &options, &move));
	fleet_fini(&bed.fleet);
}

static void nothing_moves_that_does_not_pay_its_price(void **state)
{
	struct bed bed;
	struct rule_options options = options_of(&bed);
	struct fleet_move move;
	double gain;

	(void)state;
	open_hot_bed(&bed);
	assert_true(search_all(&bed, &options, &move));
	gain = move.gain;
	options.price += gain + 1e-6;
	assert_false(search_all(&bed, &options, &move));
	options.price -= 2e-6;
	assert_true(search_all(&bed, &options, &move));
	fleet_fini(&bed.fleet);
}

static void a_copy_costs_two_cores_for_its_time_or_a_flat_price(void **state)
{
	const struct fleet_vm vm = { .memory_bytes = 30e9 };
	struct bed bed;
	struct rule_options options = options_of(&bed);

	(void)state;
	options.copy_seconds = by_memory;
	assert_true(fabs(rule_price(&options, &vm) - RULE_PRICE - 0.2) < 1e-9);
	options.copy_seconds = NULL;
	assert_true(fabs(rule_price(&options, &vm) - RULE_PRICE_FLAT) < 1e-9);
	options.price = 2 * RULE_PRICE;
	assert_true(
		fabs(rule_price(&options, &vm) - 2 * RULE_PRICE_FLAT) < 1e-9);
}

static void what_may_not_move_or_take_is_left_out(void **state)
{
	struct bed bed;
	struct rule_options options = options_of(&bed);
	struct fleet_move move;

	(void)state;
	open_hot_bed(&bed);
	bed.fleet.vms[0].may_move = false;
	bed.fleet.nodes[1].may_take = false;
	assert_true(search_all(&bed, &options, &move));
	assert_int_equal(move.vm, 1);
	assert_int_equal(move.target, 2);
	bed.forbidden = 2;
	assert_false(search_all(&bed, &options, &move));
	bed.forbidden = SIZE_MAX;
	bed.fleet.nodes[0].may_give = false;
	assert_false(search_all(&bed, &options, &move));
	fleet_fini(&bed.fleet);
}

static void equal_gains_are_decided_by_name_and_not_by_order(void **state)
{
	struct bed bed;
	struct rule_options options = options_of(&bed);
	struct fleet_move move;

	(void)state;
	open_hot_bed(&bed);
	bed.pods[1].vm_name = namespace; /* "n" < "vm-00" */
	bed.nodes[2].name = namespace;
	assert_true(search_all(&bed, &options, &move));
	assert_int_equal(move.vm, 1);
	assert_int_equal(move.target, 2);
	fleet_fini(&bed.fleet);
}

static void cooldowns_double_up_to_six_hours(void **state)
{
	(void)state;
	assert_true(rule_cooldown_s(0) <= 0);
	assert_int_equal((int)rule_cooldown_s(1), 3600);
	assert_int_equal((int)rule_cooldown_s(2), 7200);
	assert_int_equal((int)rule_cooldown_s(3), 14400);
	assert_int_equal((int)rule_cooldown_s(4), 21600);
	assert_int_equal((int)rule_cooldown_s(4000000000U), 21600);
}

/* ---- the best of all, by looking at all ---- */

static unsigned int seed;

static double random_to(double most)
{
	seed = seed * 1103515245U + 12345U;
	return most * (double)(seed >> 16 & 0x7fff) / 0x7fff;
}

static void fill_at_random(struct bed *bed)
{
	static const double sizes[] = { 1, 2, 4, 8, 16 };

	open_bed(bed);
	for (int i = 0; i < NODES; i++) {
		double busy = random_to(5);
		double may_take = random_to(10);

		add_node(bed, 16)->may_take = may_take > 1;
		for (double sum = 0;
			sum < busy * 4 && bed->fleet.vm_count < VMS_MAX;) {
			double vcpus = sizes[(int)random_to(4.9)];
			/* On every other node most VMs have equal figures. */
			double cores =
				i % 2 == 0 ? random_to(vcpus) : vcpus / 2;

			sum += cores;
			add_vm(bed, vcpus, cores)->may_move = random_to(10) > 1;
		}
	}
}

/* The shortage of an hour that `sign` times the VM adds to the node. */
static double change(const struct fleet_node *node, const struct fleet_vm *vm,
	double sign)
{
	return 12 *
		(shortage_expected(node->mean + sign * vm->cores,
			 node->variance + sign * vm->variance,
			 node->third + sign * vm->third, node->cores) -
			shortage_expected(node->mean, node->variance,
				node->third, node->cores));
}

/* The least that a target lacks more with the VM; INFINITY: there is none. */
static double least_cost(const struct fleet *fleet, const struct fleet_vm *vm)
{
	double least = INFINITY;

	for (size_t i = 0; i < fleet->node_count; i++) {
		const struct fleet_node *target = &fleet->nodes[i];

		if (i != vm->node && target->may_take) {
			least = fmin(least, fmax(change(target, vm, 1), 0));
		}
	}
	return least;
}

/* The largest of the gains of all pairs, from the sums alone. */
static double best_gain(const struct fleet *fleet,
	const struct rule_options *options)
{
	double best = 0;

	for (size_t v = 0; v < fleet->vm_count; v++) {
		const struct fleet_vm *vm = &fleet->vms[v];
		double saved = -change(&fleet->nodes[vm->node], vm, -1) -
			rule_price(options, vm);

		if (vm->may_move) {
			best = fmax(best, saved - least_cost(fleet, vm));
		}
	}
	return best;
}

static void search_finds(const struct bed *bed,
	const struct rule_options *options, size_t slice, double gain)
{
	struct rule_search search = { 0 };

	while (!rule_search(&search, &bed->fleet, options, slice)) {
	}
	assert_int_equal(search.has_best, gain > 0);
	assert_true(!search.has_best || fabs(search.best.gain - gain) < 1e-9);
	rule_search_fini(&search);
}

static void the_search_finds_the_best_in_slices_of_any_size(void **state)
{
	static const size_t slices[] = { 1, 7, 1000, SIZE_MAX };
	int moves = 0;

	(void)state;
	for (seed = 1; seed < 4000000000U && moves < 300; moves++) {
		struct bed bed;
		struct rule_options options = options_of(&bed);
		double gain;

		fill_at_random(&bed);
		gain = best_gain(&bed.fleet, &options);
		for (size_t i = 0; i < count_of(slices); i++) {
			search_finds(&bed, &options, slices[i], gain);
		}
		fleet_fini(&bed.fleet);
	}
}

static void the_policy_is_the_rule(void **state)
{
	struct bed bed;
	struct rule_options options = options_of(&bed);
	struct fleet_move move;

	(void)state;
	open_hot_bed(&bed);
	assert_true(move_policy_rule.next(NULL, &bed.fleet, &options, &move));
	assert_int_equal(move.vm, 0);
	assert_true(move_policy_rule.has_cooldown);
	fleet_clear(&bed.fleet);
	assert_false(move_policy_rule.next(NULL, &bed.fleet, &options, &move));
	fleet_fini(&bed.fleet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		golden_test(a_hot_node_gives_and_an_idle_node_takes, NULL,
			golden_end),
		golden_test(nothing_moves_that_does_not_pay_its_price, NULL,
			golden_end),
		golden_test(a_copy_costs_two_cores_for_its_time_or_a_flat_price,
			NULL, golden_end),
		golden_test(what_may_not_move_or_take_is_left_out, NULL,
			golden_end),
		golden_test(equal_gains_are_decided_by_name_and_not_by_order,
			NULL, golden_end),
		golden_test(cooldowns_double_up_to_six_hours, NULL, golden_end),
		golden_test(the_search_finds_the_best_in_slices_of_any_size,
			NULL, golden_end),
		golden_test(the_policy_is_the_rule, NULL, golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
