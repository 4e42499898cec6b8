#include "scheduler/score/decide.h"

#include <math.h>

#include "kube/time.h"
#include "tests/unit/scheduler/given.h"

static const int64_t now = 1000 * INT64_C(1000000);
static const struct filter_options defaults = FILTER_DEFAULTS;

enum { NODES = 3 };

struct fleet {
	struct names *names;
	struct node *nodes[NODES];
	struct decision decision;
};

/* node-1 to node-3, each with so many of 16 cores used; below 0: no data. */
static struct fleet fleet_new(double a, double b, double c)
{
	const double used[NODES] = { a, b, c };
	struct fleet fleet = { .names = names_new() };

	for (int i = 0; i < NODES; i++) {
		scoped_free char *name = xasprintf("node-%d", i + 1);
		struct node_load load = given_load(used[i], 0);

		fleet.nodes[i] = given_plain_node(fleet.names, name);
		if (used[i] >= 0) {
			node_set_load(fleet.nodes[i], &load, now, now);
		}
	}
	return fleet;
}

static void fleet_fini(struct fleet *fleet)
{
	for (int i = 0; i < NODES; i++) {
		node_free(fleet->nodes[i]);
	}
	decision_fini(&fleet->decision);
	names_free(fleet->names);
}

static const char *chosen(struct fleet *fleet, const struct pod *pod)
{
	const struct cluster cluster = { .nodes = fleet->nodes,
		.count = NODES };
	const struct node *node;

	decide(&fleet->decision, pod, &cluster, &defaults, now);
	node = decision_chosen(&fleet->decision);
	return node != NULL ? node->name : "none";
}

static void assert_sentence(const struct fleet *fleet, const char *expected)
{
	scoped_buffer struct buffer text = BUFFER_MAX(4096);

	buffer_text(&text, "");
	decision_sentence(&text, &fleet->decision);
	assert_string_equal(text.data, expected);
}

static void assert_message(const struct fleet *fleet, const char *expected)
{
	scoped_buffer struct buffer text = BUFFER_MAX(4096);

	decision_message(&text, &fleet->decision);
	assert_string_equal(text.data, expected);
}

static void chooses_the_least_loaded_node(void **state)
{
	struct fleet fleet = fleet_new(8, 2, 5);
	struct pod *vm = given_vm(fleet.names, "vm", 4);

	(void)state;
	assert_string_equal(chosen(&fleet, vm), "node-2");
	assert_int_equal(fleet.decision.feasible_count, NODES);
	assert_int_equal(fleet.decision.best_count, NODES);
	assert_string_equal(fleet.decision.best[2].node->name, "node-1");
	assert_sentence(&fleet,
		"node-2: 13 % CPU used + 6 % expected, no contention; next "
		"best node-3, 1 point behind");
	pod_free(vm);
	fleet_fini(&fleet);
}

static void breaks_ties_by_name(void **state)
{
	struct fleet fleet = fleet_new(4, 4, 4);
	struct pod *vm = given_vm(fleet.names, "vm", 4);
	struct node *swap = fleet.nodes[0];

	(void)state;
	fleet.nodes[0] = fleet.nodes[2];
	fleet.nodes[2] = swap;
	assert_string_equal(chosen(&fleet, vm), "node-1");
	assert_sentence(&fleet,
		"node-1: 25 % CPU used + 6 % expected, no contention; next "
		"best node-2, less than a point behind");
	pod_free(vm);
	fleet_fini(&fleet);
}

/* Without data: not chosen over an equal one, nor over the average. */
static void missing_is_never_best(void **state)
{
	struct fleet equal = fleet_new(-1, 0, 0);
	struct fleet busy = fleet_new(-1, 14, 14);
	struct fleet mixed = fleet_new(-1, 14, 1);
	struct pod *vm = given_vm(equal.names, "vm", 4);

	(void)state;
	assert_string_equal(chosen(&equal, vm), "node-2");
	assert_string_equal(equal.decision.best[2].node->name, "node-1");
	pod_free(vm);
	vm = given_vm(busy.names, "vm", 4);
	assert_string_equal(chosen(&busy, vm), "node-2");
	pod_free(vm);
	vm = given_vm(mixed.names, "vm", 4);
	assert_string_equal(chosen(&mixed, vm), "node-3");
	assert_string_equal(mixed.decision.best[1].node->name, "node-1");
	pod_free(vm);
	fleet_fini(&equal);
	fleet_fini(&busy);
	fleet_fini(&mixed);
}

/* It would be the average of all that is known. */
static void one_busy_node_known_of_many_is_not_best_for_that(void **state)
{
	enum { MANY = 200 };
	struct names *names = names_new();
	struct node_load busy = given_load(15.8, 0);
	struct pod *vm = given_vm(names, "vm", 4);
	struct node *nodes[MANY];
	const struct cluster cluster = { .nodes = nodes, .count = MANY };
	struct decision decision = { 0 };

	(void)state;
	for (int i = 0; i < MANY; i++) {
		scoped_free char *name = xasprintf("node-%03d", i);

		nodes[i] = given_plain_node(names, name);
	}
	node_set_load(nodes[0], &busy, now, now);
	decide(&decision, vm, &cluster, &defaults, now);
	assert_string_equal(decision_chosen(&decision)->name, "node-001");
	assert_int_equal(decision.feasible_count, MANY);
	/* Where a tenth of the nodes are known they speak for the rest. */
	for (int i = 1; i < MANY / 10; i++) {
		node_set_load(nodes[i], &busy, now, now);
	}
	decide(&decision, vm, &cluster, &defaults, now);
	assert_string_equal(decision_chosen(&decision)->name, "node-000");
	for (int i = 0; i < MANY; i++) {
		node_free(nodes[i]);
	}
	decision_fini(&decision);
	pod_free(vm);
	names_free(names);
}

/* However it is computed, a verdict is the score in the fleet's context. */
static void scores_every_node_in_the_same_context(void **state)
{
	struct fleet fleet = fleet_new(10, -1, 12);
	struct pod *vm = given_vm(fleet.names, "vm", 4);
	struct node_load old = given_load(3, 0);
	struct node_load mute = given_load(NAN, 0);

	(void)state;
	for (int round = 0; round < 3; round++) {
		(void)chosen(&fleet, vm);
		for (int i = 0; i < NODES; i++) {
			assert_true(fabs(fleet.decision.verdicts[i].score -
					    score_total(fleet.nodes[i],
						    &fleet.decision.context)) <
				1e-12);
		}
		node_set_load(fleet.nodes[1], round == 0 ? &old : &mute,
			round == 0 ? now - 100000000 : now, now);
	}
	pod_free(vm);
	fleet_fini(&fleet);
}

/* No load, no cgroups, no agent: placed by requests all the same. */
static void spreads_by_requests_without_any_data(void **state)
{
	struct fleet fleet = fleet_new(-1, -1, -1);
	struct pod *a = given_vm(fleet.names, "a", 4);
	struct pod *b = given_vm(fleet.names, "b", 4);

	(void)state;
	node_add_pod(fleet.nodes[0], a, MOMENT_LONG_AGO);
	node_add_pod(fleet.nodes[1], a, MOMENT_LONG_AGO);
	assert_string_equal(chosen(&fleet, b), "node-3");
	assert_sentence(&fleet,
		"node-3: no load data, by requests 6 % CPU, 6 % memory; next "
		"best node-1, 1 point behind");
	pod_free(a);
	pod_free(b);
	fleet_fini(&fleet);
}

/* What was just decided is charged to the next decision: no pile. */
static void spreads_a_burst_of_vms(void **state)
{
	struct fleet fleet = fleet_new(4, 4.5, 5);
	int counts[NODES] = { 0 };

	(void)state;
	for (int i = 0; i < 12; i++) {
		scoped_free char *name = xasprintf("vm-%d", i);
		struct pod *vm = given_vm(fleet.names, name, 4);
		const char *node = chosen(&fleet, vm);
		int index = node[strlen(node) - 1] - '1';

		counts[index]++;
		node_add_pod(fleet.nodes[index], vm, now);
		pod_free(vm);
	}
	assert_int_equal(counts[0] + counts[1] + counts[2], 12);
	assert_in_range(counts[0], 4, 5);
	assert_in_range(counts[1], 3, 5);
	assert_in_range(counts[2], 3, 4);
	fleet_fini(&fleet);
}

static void says_contention_age_and_the_only_node(void **state)
{
	struct fleet fleet = fleet_new(4, 4, 4);
	struct pod *vm = given_spec(fleet.names,
		"{'nodeName':'node-2','containers':[{'resources':{'requests':"
		"{'cpu':'1600m'}}}]}");
	struct node_load load = given_load(4, 0);

	(void)state;
	load.cpu_contention = 0.12;
	node_set_load(fleet.nodes[1], &load, now - 95000000, now);
	assert_string_equal(chosen(&fleet, vm), "node-2");
	assert_sentence(&fleet,
		"node-2: load data 95 s old, 25 % CPU used + 10 % expected, "
		"contention 12 %; the only feasible node");
	pod_free(vm);
	fleet_fini(&fleet);
}

static void says_why_no_node_fits_as_upstream_does(void **state)
{
	struct fleet fleet = fleet_new(4, 4, 4);
	struct pod *vm = given_vm(fleet.names, "vm", 4);
	struct value *tainted = given_json(
		"{'metadata':{'name':'x'},'spec':{'taints':[{'key':'k',"
		"'effect':'NoSchedule'}]}}");
	struct value *small = given_json(
		"{'metadata':{'name':'y'},'status':{'allocatable':{'cpu':'16',"
		"'pods':'9','memory':'1Gi','devices.kubevirt.io/kvm':'1k'}}}");

	(void)state;
	assert_int_equal(node_update(fleet.nodes[0], tainted, NULL), 0);
	assert_int_equal(node_update(fleet.nodes[1], small, NULL), 0);
	assert_int_equal(node_update(fleet.nodes[2], tainted, NULL), 0);
	assert_string_equal(chosen(&fleet, vm), "none");
	assert_message(&fleet,
		"0/3 nodes are available: 1 Insufficient memory, 2 node(s) had "
		"untolerated taint(s).");
	assert_sentence(&fleet, "");
	vm->priority = 1;
	assert_message(&fleet,
		"0/3 nodes are available: 1 Insufficient memory, 2 node(s) had "
		"untolerated taint(s). preemption: plimsoll-scheduler does not "
		"preempt.");
	pod_free(vm);
	value_free(tainted);
	value_free(small);
	fleet_fini(&fleet);
}

static void says_what_is_not_supported_and_that_there_are_no_nodes(void **state)
{
	const struct cluster none = { 0 };
	struct fleet fleet = fleet_new(4, 4, 4);
	struct pod *pod = given_spec(fleet.names, "{'resourceClaims':[{}]}");

	(void)state;
	assert_string_equal(chosen(&fleet, pod), "none");
	assert_message(&fleet,
		"0/3 nodes are available: pod has resource claims, which "
		"plimsoll-scheduler does not support.");
	decide(&fleet.decision, pod, &none, &defaults, now);
	assert_message(&fleet, "no nodes available to schedule pods");
	assert_null(decision_chosen(&fleet.decision));
	pod_free(pod);
	fleet_fini(&fleet);
}

static void keeps_the_ten_best_in_order(void **state)
{
	enum { MANY = 40 };
	struct names *names = names_new();
	struct node *nodes[MANY];
	struct decision d = { 0 };
	struct pod *vm = given_vm(names, "vm", 4);

	(void)state;
	for (int i = 0; i < MANY; i++) {
		scoped_free char *name = xasprintf("n%02d", i);
		struct node_load load = given_load(i * 7 % MANY, 0);

		nodes[i] = given_plain_node(names, name);
		node_set_load(nodes[i], &load, now, now);
	}
	decide(&d, vm, &(struct cluster){ .nodes = nodes, .count = MANY },
		&defaults, now);
	assert_int_equal(d.best_count, DECIDE_BEST);
	for (int i = 0; i < DECIDE_BEST; i++) {
		assert_true(
			fabs(d.best[i].node->measure.used_cores - i) < 1e-9);
	}
	for (int i = 0; i < MANY; i++) {
		node_free(nodes[i]);
	}
	decision_fini(&d);
	pod_free(vm);
	names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chooses_the_least_loaded_node),
		cmocka_unit_test(breaks_ties_by_name),
		cmocka_unit_test(missing_is_never_best),
		cmocka_unit_test(
			one_busy_node_known_of_many_is_not_best_for_that),
		cmocka_unit_test(scores_every_node_in_the_same_context),
		cmocka_unit_test(spreads_by_requests_without_any_data),
		cmocka_unit_test(spreads_a_burst_of_vms),
		cmocka_unit_test(says_contention_age_and_the_only_node),
		cmocka_unit_test(says_why_no_node_fits_as_upstream_does),
		cmocka_unit_test(
			says_what_is_not_supported_and_that_there_are_no_nodes),
		cmocka_unit_test(keeps_the_ten_best_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
