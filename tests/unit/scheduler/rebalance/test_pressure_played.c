/* Hours in virtual time on nodes that sell their memory one and a half times.
 * The VMs of one node come to use what they were promised. */
#include "scheduler/rebalance/pressure.h"

#include "tests/support/golden.h"
#include "tests/unit/scheduler/rebalance/pressure_bed.h"

enum { NODES = 4, VMS_EACH = 8, VMS = NODES * VMS_EACH, STEP_S = 10 };
enum { HOURS = 3, STEPS = HOURS * 3600 / STEP_S, MOVES_MAX = 64 };

static const double node_gib = 64;
static const double host_gib = 2; /* the host's own */

/* 12 GiB for each of 8 VMs: 150 % of 64 GiB. */
static const double guest_gib = 12;

struct copy {
	size_t vm, target;
	int64_t end_s;
};

struct world {
	struct bed bed;
	struct bed_node nodes[NODES];
	struct bed_vm vms[VMS]; /* by node, as the fleet */
	size_t number[VMS];	/* of the VM at this place */
	size_t home[VMS];	/* by number: the node it is on */
	double pressure[VMS];	/* by number */
	int64_t moved_s[VMS];	/* by number; 0: never */
	struct copy copies[VMS];
	size_t copy_count;
	struct copy moves[MOVES_MAX];
	size_t move_count;
	double stalled_s; /* seconds x nodes */
	bool moves_vms;
	double last_full[NODES];
};

/* The VMs of n0 use 50 % and, from minute 20 to 60, more and more, up to 95 %.
 * The first one grows to 100 %. The others use 40 to 47 %. */
static double used_gib(size_t number, int64_t at_s)
{
	double share = 0.4 + 0.01 * (double)(number % VMS_EACH);
	double grown = fmin(fmax((double)(at_s - 1200) / 2400, 0), 1);

	if (number < VMS_EACH) {
		share = 0.5 + grown * (number == 0 ? 0.5 : 0.45);
	}
	return share * guest_gib;
}

static bool is_in_flight(const struct world *world, size_t number)
{
	for (size_t i = 0; i < world->copy_count; i++) {
		if (world->copies[i].vm == number) {
			return true;
		}
	}
	return false;
}

/* Memory in use, with copies on both nodes. */
static double demand_gib(const struct world *world, size_t node, int64_t at_s)
{
	double sum = host_gib;

	for (size_t v = 0; v < VMS; v++) {
		sum += world->home[v] == node ? used_gib(v, at_s) : 0;
	}
	for (size_t i = 0; i < world->copy_count; i++) {
		sum += world->copies[i].target == node
			? used_gib(world->copies[i].vm, at_s)
			: 0;
	}
	return sum;
}

/* Means over a minute follow a step with its share of the time. */
static double fade(double mean, double now)
{
	return mean + (now - mean) * (1 - exp(-STEP_S / 60.0));
}

/* The memory above 100 % is in swap. Each per cent of it costs 10 % of the
 * time: a hundredth of the accesses, which are a thousand times slower, for
 * guests that touch their memory now and then. */
static void set_node(struct world *world, size_t node, int64_t at_s)
{
	double over =
		fmax(demand_gib(world, node, at_s) - node_gib, 0) / node_gib;
	double stalled = fmin(10 * over, 1);

	world->stalled_s += stalled * STEP_S;
	world->last_full[node] = fade(world->last_full[node], stalled);
	world->nodes[node] = (struct bed_node){
		.available_gib =
			fmax(node_gib - demand_gib(world, node, at_s), 0.3),
		.memory_full = world->last_full[node],
		.cores = 2,
	};
	for (size_t v = 0; v < VMS; v++) {
		if (world->home[v] == node) {
			world->pressure[v] =
				fade(world->pressure[v], stalled / 2);
		}
	}
}

/* The VMs of a node from position `at` on, with their part of the swap. Returns
 * the next position. */
static size_t set_vms_of(struct world *world, size_t node, int64_t at_s,
	size_t at)
{
	double demand = demand_gib(world, node, at_s);
	double swapped = fmax(demand - node_gib, 0) / demand;

	for (size_t v = 0; v < VMS; v++) {
		double gib = used_gib(v, at_s);

		if (world->home[v] != node) {
			continue;
		}
		world->vms[at] = (struct bed_vm){
			.node = node,
			.gib = gib * (1 - swapped),
			.swap_gib = gib * swapped,
			.memory_pressure = world->pressure[v],
			.cores = 1,
		};
		world->number[at++] = v;
	}
	return at;
}

static void set_vms(struct world *world, int64_t at_s)
{
	size_t at = 0;

	for (size_t node = 0; node < NODES; node++) {
		at = set_vms_of(world, node, at_s, at);
	}
}

static void end_copies(struct world *world, int64_t at_s)
{
	size_t kept = 0;

	for (size_t i = 0; i < world->copy_count; i++) {
		struct copy *copy = &world->copies[i];

		if (copy->end_s > at_s) {
			world->copies[kept++] = *copy;
			continue;
		}
		pressure_watch_restart(
			&world->bed.watches[world->home[copy->vm]],
			at_s * BED_SECOND);
		world->home[copy->vm] = copy->target;
	}
	world->copy_count = kept;
}

/* At most one move into a node; a VM rests for an hour. */
static void set_limits(struct world *world, int64_t at_s)
{
	struct fleet *fleet = &world->bed.fleet;

	for (size_t i = 0; i < VMS; i++) {
		size_t number = world->number[i];

		fleet->vms[i].pod = &world->bed.pods[i];
		fleet->vms[i].may_move = !is_in_flight(world, number) &&
			(world->moved_s[number] == 0 ||
				at_s - world->moved_s[number] >= 3600);
	}
	for (size_t i = 0; i < world->copy_count; i++) {
		fleet->nodes[world->copies[i].target].may_take = false;
	}
}

static void order(struct world *world, int64_t at_s)
{
	struct pressure_move move;
	struct copy copy;

	bed_fleet(&world->bed, world->nodes, NODES, world->vms, VMS);
	set_limits(world, at_s);
	if (!world->moves_vms ||
		!bed_search(&world->bed, at_s * BED_SECOND, &move)) {
		return;
	}
	assert_int_equal(move.reason, MOVE_FOR_MEMORY);
	assert_int_equal(world->bed.fleet.vms[move.move.vm].node, 0);
	copy = (struct copy){ .vm = world->number[move.move.vm],
		.target = move.move.target,
		.end_s = at_s + (int64_t)(move.copied_bytes / 1e9) + 5 };
	assert_in_range(world->move_count, 0, MOVES_MAX - 1);
	world->copies[world->copy_count++] = copy;
	world->moves[world->move_count++] = copy;
	world->moved_s[copy.vm] = at_s;
	pressure_watch_restart(&world->bed.watches[0], at_s * BED_SECOND);
}

static void play(struct world *world, bool moves_vms)
{
	*world = (struct world){ .moves_vms = moves_vms };
	bed_open(&world->bed);
	for (size_t v = 0; v < VMS; v++) {
		world->home[v] = v / VMS_EACH;
	}
	for (int64_t step = 1; step <= STEPS; step++) {
		int64_t at_s = step * STEP_S;

		end_copies(world, at_s);
		for (size_t node = 0; node < NODES; node++) {
			set_node(world, node, at_s);
		}
		set_vms(world, at_s);
		for (size_t node = 0; node < NODES; node++) {
			bed_note(&world->bed, node, &world->nodes[node],
				world->vms, VMS, at_s * BED_SECOND);
		}
		order(world, at_s);
	}
}

static void a_node_that_runs_out_of_memory_recovers(void **state)
{
	static struct world without, with;

	(void)state;
	play(&without, false);
	play(&with, true);
	/* Without moves the node stalls to the end. */
	assert_true(pressure_watch_is_sustained(&without.bed.watches[0],
		MOVE_FOR_MEMORY, (int64_t)HOURS * 3600 * BED_SECOND));
	assert_true(without.last_full[0] > 0.99);
	/* 96 GiB are wanted, and 64 are there: three VMs leave, each once. The
	 * one that uses most does not: its copy would relieve no more. */
	assert_in_range(with.move_count, 3, 4);
	for (size_t node = 0; node < NODES; node++) {
		assert_false(
			pressure_watch_is_troubled(&with.bed.watches[node]));
		assert_true(with.last_full[node] < 0.001);
	}
	for (size_t i = 0; i < with.move_count; i++) {
		assert_in_range(with.moves[i].vm, 1, VMS_EACH - 1);
		for (size_t j = 0; j < i; j++) {
			assert_int_not_equal(with.moves[i].vm,
				with.moves[j].vm);
		}
	}
	assert_true(with.stalled_s < without.stalled_s / 20);
	print_message("stalled for %.0f s without moves, %.0f s with %zu\n",
		without.stalled_s, with.stalled_s, with.move_count);
	bed_close(&without.bed);
	bed_close(&with.bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		golden_test(a_node_that_runs_out_of_memory_recovers, NULL,
			golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
