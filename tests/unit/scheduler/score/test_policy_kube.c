#include "scheduler/score/policy_kube.h"

#include <inttypes.h>
#include <math.h>

#include "kube/time.h"
#include "scheduler/score/score.h"
#include "tests/support/golden.h"
#include "tests/unit/scheduler/given.h"

static struct node *node_of(struct interner *interner, int64_t milli,
	int64_t bytes)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':"
		"'%" PRId64 "m','memory':'%" PRId64 "','pods':'110'}}}",
		milli, bytes);

	return given_node(interner, json);
}

static struct pod *pod_of(struct interner *interner, int64_t milli,
	int64_t bytes)
{
	scoped_free char *spec = xasprintf(
		"{'containers':[{'resources':{'requests':{'cpu':'%" PRId64
		"m','memory':'%" PRId64 "'}}}]}",
		milli, bytes);

	return given_spec(interner, spec);
}

static struct score score_by(const char *policy, const char *args,
	const struct pod *pod, const struct node *node)
{
	struct json_value *value = given_json(args);
	struct policy found;
	struct score score;

	assert_int_equal(policy_find(&found, policy, value, NULL), 0);
	score_node(&score, node,
		&(struct score_context){ .pod = pod, .policy = &found });
	golden_tell("%s %.6g:", policy, score.total);
	for (int term = 0; term < SCORE_TERMS; term++) {
		golden_tell(" %.6g", score.terms[term]);
	}
	golden_tell("\n");
	json_value_free(value);
	return score;
}

static void assert_terms(const struct score *score, double least,
	double balanced)
{
	assert_true(fabs(score->terms[TERM_LEAST_ALLOCATED] - least) < 1e-9);
	assert_true(
		fabs(score->terms[TERM_BALANCED_ALLOCATION] - balanced) < 1e-9);
	assert_true(fabs(score->total - (least + balanced) / 2) < 1e-9);
	assert_true(isnan(score->terms[TERM_CPU]));
}

/* Harvester's published decisions: 12 VMs, one after another, and three nodes.
 * "Total" is without 1000000 and the 354 points of the other plugins. */
static const int harvester[12][2] = { { 46, 59 }, { 43, 64 }, { 40, 68 },
	{ 36, 72 }, { 33, 76 }, { 30, 81 }, { 27, 85 }, { 24, 89 }, { 21, 94 },
	{ 17, 98 }, { 14, 97 }, { 11, 92 } };

static void reproduces_all_36_cells_of_harvesters_table_4(void **state)
{
	static const int64_t before[3][2] = { { 8960, 13912506368 },
		{ 4560, 5098176512 }, { 4350, 4687134720 } };
	struct interner *interner = interner_new();
	struct pod *vm = pod_of(interner, 62, 894783488);
	struct node *nodes[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		nodes[i] = node_of(interner, 6000, 16776437760);
		nodes[i]->nonzero_milli = before[i][0];
		nodes[i]->nonzero_bytes = before[i][1];
	}
	for (int k = 0; k < 12; k++) {
		struct score a =
			score_by("kube-scheduler-1.21", "{}", vm, nodes[0]);
		struct score b =
			score_by("kube-scheduler-1.21", "{}", vm, nodes[1]);
		struct score c =
			score_by("kube-scheduler-1.21", "{}", vm, nodes[2]);

		assert_terms(&a, 5, 0);
		assert_terms(&b, 43, 58);
		assert_terms(&c, harvester[k][0], harvester[k][1]);
		node_add_pod(nodes[2], vm, TIME_LONG_AGO);
	}
	for (int k = 0; k < 12; k++) {
		node_remove_pod(nodes[2], vm);
	}
	assert_true(nodes[2]->nonzero_milli == 4350);
	for (int i = 0; i < 3; i++) {
		node_free(nodes[i]);
	}
	pod_free(vm);
	interner_free(interner);
}

/* From the formulas: least = mean over cpu and memory of
 * (allocatable - requested) x 100 / allocatable, balanced = 50 + (50 + B(with)
 * - B(without)) / 2, B = (1 - |fcpu - fmem| / 2) x 100, all whole. */
static const struct {
	int64_t cores, gib, pod_milli, pod_gib;
	double least, balanced;
} fresh[] = {
	/* 25 % and 25 %: balanced. */
	{ 4, 8, 1000, 2, 75, 75 },
	/* 75 % and 50 %: B falls from 100 to 87. */
	{ 4, 8, 3000, 4, 37, 50 + 18 }, /* (50 + 87 - 100) / 2 */
	/* 100 % of CPU; the memory request is 0. */
	{ 4, 8, 4000, 0, 50, 50 },
	/* Twice the allocatable: 0 points, and a fraction of 1. */
	{ 4, 8, 8000, 8, 0, 75 },
};

static void an_empty_node_scores_like_1_36(void **state)
{
	struct interner *interner = interner_new();

	(void)state;
	for (size_t i = 0; i < count_of(fresh); i++) {
		struct node *node = node_of(interner, fresh[i].cores * 1000,
			fresh[i].gib << 30);
		struct pod *pod = pod_of(interner, fresh[i].pod_milli,
			fresh[i].pod_gib << 30);
		struct score score =
			score_by("kube-scheduler", "{}", pod, node);

		assert_terms(&score, fresh[i].least, fresh[i].balanced);
		node_free(node);
		pod_free(pod);
	}
	interner_free(interner);
}

static void a_pod_that_improves_the_balance_scores_higher(void **state)
{
	struct interner *interner = interner_new();
	struct node *node = node_of(interner, 4000, INT64_C(8) << 30);
	struct pod *there = pod_of(interner, 3000, INT64_C(2) << 30);
	struct pod *pod = pod_of(interner, 0, INT64_C(4) << 30);
	struct score score;

	(void)state;
	node_add_pod(node, there, TIME_LONG_AGO);
	score = score_by("kube-scheduler", "{}", pod, node);
	/* B was (1 - (0.75 - 0.25) / 2) x 100 = 75 and becomes 100; half of
	 * 50 + 25 is 37. */
	assert_terms(&score, 25, 50 + 37);
	node_free(node);
	pod_free(there);
	pod_free(pod);
	interner_free(interner);
}

/* Missing requests of a container count 100m and 200 MiB, an explicit 0 counts
 * 0. BalancedAllocation uses the plain requests, and skips a pod without
 * requests. */
static void missing_requests_count_as_the_defaults(void **state)
{
	struct interner *interner = interner_new();
	struct node *node = node_of(interner, 1000, INT64_C(2000) << 20);
	struct pod *none = given_spec(interner,
		"{'containers':[{},{}],'initContainers':[{}]}");
	struct pod *zero = pod_of(interner, 0, 0);
	struct score score;

	(void)state;
	score = score_by("kube-scheduler", "{}", none, node);
	assert_true(fabs(score.terms[TERM_LEAST_ALLOCATED] - 80) < 1e-9);
	assert_true(isnan(score.terms[TERM_BALANCED_ALLOCATION]));
	assert_true(fabs(score.total - 80) < 1e-9);
	score = score_by("kube-scheduler", "{}", zero, node);
	assert_true(fabs(score.terms[TERM_LEAST_ALLOCATED] - 100) < 1e-9);
	score = score_by("kube-scheduler-1.21", "{}", none, node);
	assert_terms(&score, 80, 100);
	node_free(node);
	pod_free(none);
	pod_free(zero);
	interner_free(interner);
}

static void arguments_set_the_weights_of_resources(void **state)
{
	struct interner *interner = interner_new();
	struct node *node = node_of(interner, 4000, INT64_C(8) << 30);
	struct pod *pod = pod_of(interner, 1000, INT64_C(4) << 30);
	struct score score;

	(void)state;
	score = score_by("kube-scheduler",
		"{'resources':[{'name':'cpu','weight':3},{'name':'memory'}]}",
		pod, node);
	assert_true(fabs(score.terms[TERM_LEAST_ALLOCATED] - 68) < 1e-9);
	score = score_by("kube-scheduler", "{'resources':[{'name':'memory'}]}",
		pod, node);
	assert_true(fabs(score.terms[TERM_LEAST_ALLOCATED] - 50) < 1e-9);
	node_free(node);
	pod_free(pod);
	interner_free(interner);
}

static void absurd_amounts_give_finite_scores(void **state)
{
	static const double figures[] = { -5, 0, 1e-300, 1, 1e6, 1e308, NAN,
		INFINITY };
	static const char *const policies[] = { "real-load", "kube-scheduler",
		"kube-scheduler-1.21", "target-load-packing",
		"load-variation-risk", "low-risk-overcommit" };
	struct interner *interner = interner_new();
	struct node *nothing = node_of(interner, 0, 0);
	struct node *huge = node_of(interner, INT64_MAX / 2, INT64_MAX / 2);
	struct pod *greedy = given_spec(interner,
		"{'containers':[{'resources':{'requests':{'cpu':'9E','memory':"
		"'9E'},'limits':{'cpu':'9E','memory':'9E'}}}]}");
	struct node_load load = given_load(1e6, 1e18);

	(void)state;
	node_add_pod(huge, greedy, TIME_LONG_AGO);
	for (size_t i = 0; i < count_of(policies) * count_of(figures); i++) {
		const char *policy = policies[i % count_of(policies)];
		double figure = figures[i / count_of(policies)];
		struct score a, b;

		load.cpu_cores = figure;
		load.cpu_used_cores_15m = figure;
		load.cpu_stdev_cores_15m = figure;
		load.memory_total_bytes = figure;
		load.memory_used_bytes_15m = figures[count_of(figures) - 1];
		node_set_load(nothing, &load, 5, 0);
		load.cpu_cores = 16;
		node_set_load(huge, &load, 0, 0);
		a = score_by(policy, "{}", greedy, nothing);
		b = score_by(policy, "{}", greedy, huge);
		assert_true(a.total >= 0 && a.total <= 100);
		assert_true(b.total >= 0 && b.total <= 100);
	}
	node_free(nothing);
	node_free(huge);
	pod_free(greedy);
	interner_free(interner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		golden_test(reproduces_all_36_cells_of_harvesters_table_4, NULL,
			golden_end),
		golden_test(an_empty_node_scores_like_1_36, NULL, golden_end),
		golden_test(a_pod_that_improves_the_balance_scores_higher, NULL,
			golden_end),
		golden_test(missing_requests_count_as_the_defaults, NULL,
			golden_end),
		golden_test(arguments_set_the_weights_of_resources, NULL,
			golden_end),
		golden_test(absurd_amounts_give_finite_scores, NULL,
			golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
