#include "simulate/comparators/comparators.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdlib.h>
#include <string.h>

enum { NODES = 3, VMS_PER_NODE = 2, VMS = NODES * VMS_PER_NODE };

/* Three nodes of ten cores with two VMs each. */
struct cluster_of_three {
	struct node objects[NODES];
	struct pod pod;
	struct fleet_node nodes[NODES];
	struct fleet_vm vms[VMS];
	struct fleet fleet;
	size_t refused; /* the filters of this node refuse everything */
	struct rule_options options;
};

static bool may_run(void *owner, const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	const struct cluster_of_three *c = owner;

	(void)vm;
	return target != &c->nodes[c->refused];
}

static void set_vm(struct cluster_of_three *c, size_t vm, double cores,
	double memory_bytes)
{
	struct fleet_node *node = &c->nodes[c->vms[vm].node];

	node->used_cores += cores - c->vms[vm].used_cores;
	node->mean = node->used_cores;
	c->vms[vm].used_cores = cores;
	c->vms[vm].memory_bytes = memory_bytes;
}

static void init(struct cluster_of_three *c)
{
	*c = (struct cluster_of_three){ .refused = NODES };
	for (size_t i = 0; i < NODES; i++) {
		c->objects[i].cpu_milli = 10000;
		c->objects[i].memory_bytes = INT64_C(64) << 30;
		c->nodes[i] = (struct fleet_node){ .node = &c->objects[i],
			.cores = 10,
			.variance = 0.25,
			.first_vm = i * VMS_PER_NODE,
			.vm_count = VMS_PER_NODE,
			.may_give = true,
			.may_take = true };
	}
	for (size_t i = 0; i < VMS; i++) {
		c->vms[i] = (struct fleet_vm){ .pod = &c->pod,
			.node = i / VMS_PER_NODE,
			.vcpus = 8,
			.may_move = true };
		set_vm(c, i, 1, 1e9 * (double)(i + 1));
	}
	c->fleet = (struct fleet){ .nodes = c->nodes,
		.node_count = NODES,
		.vms = c->vms,
		.vm_count = VMS };
	c->options = (struct rule_options){ .may_run = may_run, .owner = c };
}

static bool next(struct cluster_of_three *c, const struct move_policy *policy,
	struct fleet_move *out)
{
	memset(out, 0, sizeof(*out));
	return policy->next(NULL, &c->fleet, &c->options, out);
}

static void a_node_above_its_threshold_gives_its_smallest_copy(void **state)
{
	struct cluster_of_three c;
	struct fleet_move move;

	(void)state;
	init(&c);
	set_vm(&c, 2, 6.9, 9e9);
	set_vm(&c, 4, 2, 5e9);
	assert_false(next(&c, &threshold_80_policy, &move));
	set_vm(&c, 2, 7.5, 9e9);
	assert_false(next(&c, &threshold_90_policy, &move));
	assert_true(next(&c, &threshold_80_policy, &move));
	assert_int_equal(move.vm, 3);
	assert_int_equal(move.target, 0);
}

static void a_vm_stays_if_its_target_would_be_overloaded(void **state)
{
	struct cluster_of_three c;
	struct fleet_move move;

	(void)state;
	init(&c);
	set_vm(&c, 2, 7.5, 9e9);
	set_vm(&c, 3, 1, 10e9);
	c.vms[3].may_move = false;
	assert_false(next(&c, &threshold_80_policy, &move));
	c.vms[3].may_move = true;
	c.refused = 0;
	assert_true(next(&c, &threshold_80_policy, &move));
	assert_int_equal(move.target, 2);
}

static void the_smallest_vm_that_helps_leaves(void **state)
{
	struct cluster_of_three c;
	struct fleet_move move;

	(void)state;
	init(&c);
	set_vm(&c, 2, 5, 1e9);
	set_vm(&c, 3, 3.5, 9e9);
	assert_true(next(&c, &smallest_that_helps_policy, &move));
	assert_int_equal(move.vm, 3);
	set_vm(&c, 3, 0.05, 9e9);
	set_vm(&c, 2, 8.1, 1e9);
	assert_false(next(&c, &smallest_that_helps_policy, &move));
}

static void deviation_places_by_requests_or_by_load(void **state)
{
	struct cluster_of_three c;
	struct fleet_move move;

	(void)state;
	init(&c);
	set_vm(&c, 0, 6, 1e9);
	set_vm(&c, 2, 3, 1e9);
	c.objects[2].cpu_milli_requested = 9000;
	assert_true(next(&c, &deviation_policy, &move));
	assert_int_equal(move.vm, 0);
	assert_int_equal(move.target, 1);
	assert_true(next(&c, &deviation_real_load_policy, &move));
	assert_int_equal(move.target, 2);
	/* Half of the memory weighs more than a tenth of the CPU. */
	c.objects[2].cpu_milli_requested = 1000;
	c.objects[1].memory_bytes_requested = INT64_C(32) << 30;
	assert_true(next(&c, &deviation_policy, &move));
	assert_int_equal(move.target, 2);
	c.objects[2].cpu_milli_requested = 9000;
	assert_true(next(&c, &deviation_policy, &move));
	assert_int_equal(move.target, 1);
}

static void balanced_nodes_are_left_alone(void **state)
{
	const struct move_policy *const all[] = { &threshold_80_policy,
		&threshold_90_policy, &smallest_that_helps_policy,
		&deviation_policy, &deviation_real_load_policy,
		&imbalance_policy };
	struct cluster_of_three c;
	struct fleet_move move;

	(void)state;
	init(&c);
	for (size_t i = 0; i < count_of(all); i++) {
		assert_false(next(&c, all[i], &move));
	}
}

static void imbalance_takes_the_move_that_balances_most(void **state)
{
	struct cluster_of_three c;
	struct fleet_move move;

	(void)state;
	init(&c);
	set_vm(&c, 0, 5, 1e9);
	set_vm(&c, 1, 3, 1e9);
	set_vm(&c, 4, 0, 1e9);
	assert_true(next(&c, &imbalance_policy, &move));
	assert_int_equal(move.vm, 1);
	assert_int_equal(move.target, 2);
}

/* A state of the adaptive policies that has observed these loads of node 0. */
static void *observe_all(struct cluster_of_three *c,
	const struct move_policy *policy, const double *cores, size_t count)
{
	void *observed = xcalloc(1, policy->state_bytes);

	for (size_t i = 0; i < count; i++) {
		set_vm(c, 0, cores[i] - c->vms[1].used_cores, 1e9);
		policy->observe(observed, &c->fleet, 300);
	}
	return observed;
}

static void end(const struct move_policy *policy, void *observed)
{
	policy->fini(observed);
	free(observed);
}

static void a_node_that_varies_has_a_lower_threshold(void **state)
{
	static const double steady[] = { 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8 };
	static const double varying[] = { 2, 8, 2, 8, 2, 8, 2, 8, 2, 8, 2, 8 };
	const struct move_policy *policy = &interquartile_policy;
	struct cluster_of_three c;
	struct fleet_move move;
	void *observed;

	(void)state;
	init(&c);
	observed = observe_all(&c, policy, steady, count_of(steady));
	assert_false(policy->next(observed, &c.fleet, &c.options, &move));
	end(policy, observed);
	observed = observe_all(&c, policy, varying, count_of(varying));
	/* 1 - 1.5 x 0.6 = 0.1: no target stays below that. */
	assert_false(policy->next(observed, &c.fleet, &c.options, &move));
	set_vm(&c, 2, 0, 1e9);
	set_vm(&c, 3, 0, 1e9);
	set_vm(&c, 1, 0.5, 1e8);
	assert_true(policy->next(observed, &c.fleet, &c.options, &move));
	assert_int_equal(move.vm, 1);
	assert_int_equal(move.target, 1);
	end(policy, observed);
}

/* The thirty last loads count. The first ten of forty were high. */
static void only_the_last_loads_of_a_node_count(void **state)
{
	const struct move_policy *policy = &interquartile_policy;
	double cores[40];
	struct cluster_of_three c;
	struct fleet_move move;
	void *observed;

	(void)state;
	for (size_t i = 0; i < count_of(cores); i++) {
		cores[i] = i < 10 ? 8 : 2;
	}
	init(&c);
	observed = observe_all(&c, policy, cores, count_of(cores));
	set_vm(&c, 0, 7, 1e9);
	set_vm(&c, 1, 0.5, 1e8);
	set_vm(&c, 2, 0, 1e9);
	set_vm(&c, 3, 0, 1e9);
	assert_false(policy->next(observed, &c.fleet, &c.options, &move));
	end(policy, observed);
}

static void a_node_that_rises_gives_before_it_is_full(void **state)
{
	static const double flat[] = { 8, 8, 8, 8, 8, 8, 8, 8, 8, 8 };
	static const double rising[] = { 1, 2, 3, 4, 5, 6, 7, 7.5, 8, 8 };
	const struct move_policy *policy = &local_regression_policy;
	struct cluster_of_three c;
	struct fleet_move move;
	void *observed;

	(void)state;
	init(&c);
	observed = observe_all(&c, policy, flat, count_of(flat));
	assert_false(policy->next(observed, &c.fleet, &c.options, &move));
	end(policy, observed);
	observed = observe_all(&c, policy, rising, count_of(rising));
	assert_true(policy->next(observed, &c.fleet, &c.options, &move));
	end(policy, observed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_node_above_its_threshold_gives_its_smallest_copy),
		cmocka_unit_test(a_vm_stays_if_its_target_would_be_overloaded),
		cmocka_unit_test(the_smallest_vm_that_helps_leaves),
		cmocka_unit_test(deviation_places_by_requests_or_by_load),
		cmocka_unit_test(balanced_nodes_are_left_alone),
		cmocka_unit_test(imbalance_takes_the_move_that_balances_most),
		cmocka_unit_test(a_node_that_varies_has_a_lower_threshold),
		cmocka_unit_test(only_the_last_loads_of_a_node_count),
		cmocka_unit_test(a_node_that_rises_gives_before_it_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
