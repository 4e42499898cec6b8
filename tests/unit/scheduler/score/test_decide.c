#include "scheduler/score/decide.h"

#include <math.h>

#include "kube/time.h"
#include "tests/support/golden.h"
#include "tests/unit/scheduler/given.h"

static const int64_t now = 1000 * INT64_C(1000000);
static const struct filter_options defaults = FILTER_DEFAULTS;

enum { NODES = 3 };

struct setting {
	struct interner *interner;
	struct node *nodes[NODES];
	struct decision decision;
};

/* node-1 to node-3 with their used cores, of 16; below 0: no data. */
static struct setting setting_new(double a, double b, double c)
{
	const double used[NODES] = { a, b, c };
	struct setting s = { .interner = interner_new() };

	for (int i = 0; i < NODES; i++) {
		scoped_free char *name = xasprintf("node-%d", i + 1);
		struct node_load load = given_load(used[i], 0);

		s.nodes[i] = given_plain_node(s.interner, name);
		if (used[i] >= 0) {
			node_set_load(s.nodes[i], &load, now, now);
		}
	}
	return s;
}

static void setting_fini(struct setting *s)
{
	for (int i = 0; i < NODES; i++) {
		node_free(s->nodes[i]);
	}
	decision_fini(&s->decision);
	interner_free(s->interner);
}

static void tell_scores(const struct decision *d)
{
	for (size_t i = 0; i < d->node_count; i++) {
		struct score score = { 0 };

		if (d->verdicts[i].reasons == 0) {
			score_node(&score, d->nodes[i], &d->context);
		}
		golden_tell("%s %llx %.6g:", d->nodes[i]->name,
			(unsigned long long)d->verdicts[i].reasons,
			score.total);
		for (int term = 0; term < SCORE_TERMS; term++) {
			golden_tell(" %.6g", score.terms[term]);
		}
		golden_tell("\n");
	}
}

static const char *chosen(struct setting *s, const struct pod *pod)
{
	const struct cluster cluster = { .nodes = s->nodes, .count = NODES };
	const struct node *node;

	decide(&s->decision, pod, &cluster, &defaults, now);
	tell_scores(&s->decision);
	node = decision_chosen(&s->decision);
	return node != NULL ? node->name : "none";
}

static void assert_sentence(const struct setting *s, const char *expected)
{
	scoped_buffer struct buffer text = BUFFER_MAX(4096);

	buffer_text(&text, "");
	decision_sentence(&text, &s->decision);
	assert_string_equal(text.data, expected);
}

static void assert_message(const struct setting *s, const char *expected)
{
	scoped_buffer struct buffer text = BUFFER_MAX(4096);

	decision_message(&text, &s->decision);
	assert_string_equal(text.data, expected);
}

static void chooses_the_least_loaded_node(void **state)
{
	struct setting s = setting_new(8, 2, 5);
	struct pod *vm = given_vm(s.interner, "vm", 4);

	(void)state;
	assert_string_equal(chosen(&s, vm), "node-2");
	assert_int_equal(s.decision.feasible_count, NODES);
	assert_int_equal(s.decision.best_count, NODES);
	assert_string_equal(s.decision.best[2].node->name, "node-1");
	assert_sentence(&s,
		"node-2: 13 % CPU used + 6 % by this VM; CPU free for 9.7 "
		"times its usual swing (8 %) against 7.5 times (8 %) on "
		"node-3; less than a point ahead of node-3");
	pod_free(vm);
	setting_fini(&s);
}

static void breaks_ties_by_name(void **state)
{
	struct setting s = setting_new(4, 4, 4);
	struct pod *vm = given_vm(s.interner, "vm", 4);
	struct node *swap = s.nodes[0];

	(void)state;
	s.nodes[0] = s.nodes[2];
	s.nodes[2] = swap;
	assert_string_equal(chosen(&s, vm), "node-1");
	assert_sentence(&s,
		"node-1: 25 % CPU used + 6 % by this VM; as good as node-2, "
		"and first by name");
	pod_free(vm);
	setting_fini(&s);
}

/* A node without data does not beat an equal or an average node. */
static void a_node_without_data_is_never_best(void **state)
{
	struct setting equal = setting_new(-1, 0, 0);
	struct setting busy = setting_new(-1, 14, 14);
	struct setting mixed = setting_new(-1, 14, 1);
	struct pod *vm = given_vm(equal.interner, "vm", 4);

	(void)state;
	assert_string_equal(chosen(&equal, vm), "node-2");
	assert_string_equal(equal.decision.best[2].node->name, "node-1");
	pod_free(vm);
	vm = given_vm(busy.interner, "vm", 4);
	assert_string_equal(chosen(&busy, vm), "node-2");
	pod_free(vm);
	vm = given_vm(mixed.interner, "vm", 4);
	assert_string_equal(chosen(&mixed, vm), "node-3");
	assert_string_equal(mixed.decision.best[1].node->name, "node-1");
	pod_free(vm);
	setting_fini(&equal);
	setting_fini(&busy);
	setting_fini(&mixed);
}

/* The only node with data would be the average. */
static void one_busy_node_known_of_many_is_not_best_for_that(void **state)
{
	enum { MANY = 200 };
	struct interner *interner = interner_new();
	struct node_load busy = given_load(15.8, 0);
	struct pod *vm = given_vm(interner, "vm", 4);
	struct node *nodes[MANY];
	const struct cluster cluster = { .nodes = nodes, .count = MANY };
	struct decision decision = { 0 };

	(void)state;
	for (int i = 0; i < MANY; i++) {
		scoped_free char *name = xasprintf("node-%03d", i);

		nodes[i] = given_plain_node(interner, name);
	}
	node_set_load(nodes[0], &busy, now, now);
	decide(&decision, vm, &cluster, &defaults, now);
	assert_string_equal(decision_chosen(&decision)->name, "node-001");
	assert_int_equal(decision.feasible_count, MANY);
	/* A tenth of the nodes with data represents all nodes. */
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
	interner_free(interner);
}

/* Each verdict is the score in the context of the whole cluster. */
static void scores_every_node_in_the_same_context(void **state)
{
	struct setting s = setting_new(10, -1, 12);
	struct pod *vm = given_vm(s.interner, "vm", 4);
	struct node_load old = given_load(3, 0);
	struct node_load mute = given_load(NAN, 0);

	(void)state;
	for (int round = 0; round < 3; round++) {
		(void)chosen(&s, vm);
		for (int i = 0; i < NODES; i++) {
			assert_true(
				fabs(s.decision.verdicts[i].score -
					score_total(s.nodes[i],
						&s.decision.context)) < 1e-12);
		}
		node_set_load(s.nodes[1], round == 0 ? &old : &mute,
			round == 0 ? now - 100000000 : now, now);
	}
	pod_free(vm);
	setting_fini(&s);
}

/* Without load, cgroups or an agent, requests decide. */
static void spreads_by_requests_without_data(void **state)
{
	struct setting s = setting_new(-1, -1, -1);
	struct pod *a = given_vm(s.interner, "a", 4);
	struct pod *b = given_vm(s.interner, "b", 4);

	(void)state;
	node_add_pod(s.nodes[0], a, TIME_LONG_AGO);
	node_add_pod(s.nodes[1], a, TIME_LONG_AGO);
	assert_string_equal(chosen(&s, b), "node-3");
	assert_sentence(&s,
		"node-3: no load data, by requests 6 % CPU, 6 % memory; CPU "
		"free for 11.2 times its usual swing (8 %) against 8.1 times "
		"(11 %) on node-1; less than a point ahead of node-1");
	pod_free(a);
	pod_free(b);
	setting_fini(&s);
}

/* Earlier decisions are charged to the next, so VMs do not pile up. */
static void spreads_a_burst_of_vms(void **state)
{
	struct setting s = setting_new(4, 4.5, 5);
	int counts[NODES] = { 0 };

	(void)state;
	for (int i = 0; i < 12; i++) {
		scoped_free char *name = xasprintf("vm-%d", i);
		struct pod *vm = given_vm(s.interner, name, 4);
		const char *node = chosen(&s, vm);
		int index = node[strlen(node) - 1] - '1';

		counts[index]++;
		node_add_pod(s.nodes[index], vm, now);
		pod_free(vm);
	}
	assert_int_equal(counts[0] + counts[1] + counts[2], 12);
	assert_in_range(counts[0], 4, 5);
	assert_in_range(counts[1], 3, 5);
	assert_in_range(counts[2], 3, 4);
	setting_fini(&s);
}

static void the_sentence_has_contention_age_and_the_only_node(void **state)
{
	struct setting s = setting_new(4, 4, 4);
	struct pod *vm = given_spec(s.interner,
		"{'nodeName':'node-2','containers':[{'resources':{'requests':"
		"{'cpu':'1600m'}}}]}");
	struct node_load load = given_load(4, 0);

	(void)state;
	load.cpu_contention = 0.12;
	node_set_load(s.nodes[1], &load, now - 95000000, now);
	assert_string_equal(chosen(&s, vm), "node-2");
	assert_sentence(&s,
		"node-2: load data 95 s old, 25 % CPU used + 10 % by this "
		"pod; contention 12 %; the only feasible node");
	pod_free(vm);
	setting_fini(&s);
}

static void the_message_equals_upstream_if_no_node_fits(void **state)
{
	struct setting s = setting_new(4, 4, 4);
	struct pod *vm = given_vm(s.interner, "vm", 4);
	struct json_value *tainted = given_json(
		"{'metadata':{'name':'x'},'spec':{'taints':[{'key':'k',"
		"'effect':'NoSchedule'}]}}");
	struct json_value *small = given_json(
		"{'metadata':{'name':'y'},'status':{'allocatable':{'cpu':'16',"
		"'pods':'9','memory':'1Gi','devices.kubevirt.io/kvm':'1k'}}}");

	(void)state;
	assert_int_equal(node_update(s.nodes[0], tainted, NULL), 0);
	assert_int_equal(node_update(s.nodes[1], small, NULL), 0);
	assert_int_equal(node_update(s.nodes[2], tainted, NULL), 0);
	assert_string_equal(chosen(&s, vm), "none");
	assert_message(&s,
		"0/3 nodes are available: 1 Insufficient memory, 2 node(s) had "
		"untolerated taint(s).");
	assert_sentence(&s, "");
	vm->priority = 1;
	assert_message(&s,
		"0/3 nodes are available: 1 Insufficient memory, 2 node(s) had "
		"untolerated taint(s). preemption: plimsoll-scheduler does not "
		"preempt.");
	pod_free(vm);
	json_value_free(tainted);
	json_value_free(small);
	setting_fini(&s);
}

static void says_what_is_not_supported_and_that_there_are_no_nodes(void **state)
{
	const struct cluster none = { 0 };
	struct setting s = setting_new(4, 4, 4);
	struct pod *pod = given_spec(s.interner, "{'resourceClaims':[{}]}");

	(void)state;
	assert_string_equal(chosen(&s, pod), "none");
	assert_message(&s,
		"0/3 nodes are available: pod has resource claims, which "
		"plimsoll-scheduler does not support.");
	decide(&s.decision, pod, &none, &defaults, now);
	assert_message(&s, "no nodes available to schedule pods");
	assert_null(decision_chosen(&s.decision));
	pod_free(pod);
	setting_fini(&s);
}

static void keeps_the_ten_best_in_order(void **state)
{
	enum { MANY = 40 };
	struct interner *interner = interner_new();
	struct node *nodes[MANY];
	struct decision d = { 0 };
	struct pod *vm = given_vm(interner, "vm", 4);

	(void)state;
	for (int i = 0; i < MANY; i++) {
		scoped_free char *name = xasprintf("n%02d", i);
		struct node_load load = given_load(i * 7 % MANY, 0);

		nodes[i] = given_plain_node(interner, name);
		node_set_load(nodes[i], &load, now, now);
	}
	decide(&d, vm, &(struct cluster){ .nodes = nodes, .count = MANY },
		&defaults, now);
	assert_int_equal(d.best_count, DECIDE_BEST);
	for (int i = 0; i < DECIDE_BEST; i++) {
		assert_true(
			fabs(d.best[i].node->metrics.used_cores - i) < 1e-9);
	}
	for (int i = 0; i < MANY; i++) {
		node_free(nodes[i]);
	}
	decision_fini(&d);
	pod_free(vm);
	interner_free(interner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		golden_test(chooses_the_least_loaded_node, NULL, golden_end),
		golden_test(breaks_ties_by_name, NULL, golden_end),
		golden_test(a_node_without_data_is_never_best, NULL,
			golden_end),
		golden_test(one_busy_node_known_of_many_is_not_best_for_that,
			NULL, golden_end),
		golden_test(scores_every_node_in_the_same_context, NULL,
			golden_end),
		golden_test(spreads_by_requests_without_data, NULL, golden_end),
		golden_test(spreads_a_burst_of_vms, NULL, golden_end),
		golden_test(the_sentence_has_contention_age_and_the_only_node,
			NULL, golden_end),
		golden_test(the_message_equals_upstream_if_no_node_fits, NULL,
			golden_end),
		golden_test(
			says_what_is_not_supported_and_that_there_are_no_nodes,
			NULL, golden_end),
		golden_test(keeps_the_ten_best_in_order, NULL, golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
