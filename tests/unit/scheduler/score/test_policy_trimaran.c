#include "scheduler/score/policy_trimaran.h"

#include <errno.h>
#include <math.h>

#include "scheduler/score/beta.h"
#include "scheduler/score/score.h"
#include "tests/support/golden.h"
#include "tests/unit/scheduler/given.h"

static const int64_t second = 1000000;

/* A node of 16 cores and 64 GiB with these figures of 15 minutes. */
struct setting {
	struct interner *interner;
	struct node *node;
	struct node_load load;
};

static struct setting setting_new(void)
{
	struct setting s = { .interner = interner_new() };

	s.node = given_plain_node(s.interner, "n");
	s.load = given_load(0, 0);
	s.load.cpu_used_cores = NAN;
	s.load.memory_available_bytes = NAN;
	return s;
}

static void setting_fini(struct setting *s)
{
	node_free(s->node);
	interner_free(s->interner);
}

static double points(struct setting *s, const char *policy, const char *args,
	const char *spec)
{
	struct json_value *value = given_json(args);
	struct pod *pod = given_spec(s->interner, spec);
	struct policy found;
	struct score score;

	assert_int_equal(policy_find(&found, policy, value, NULL), 0);
	node_set_load(s->node, &s->load, 1000 * second, 1000 * second);
	score_node(&score, s->node,
		&(struct score_context){ .pod = pod, .policy = &found });
	golden_tell("%s %.6g:", policy, score.total);
	for (int term = 0; term < SCORE_TERMS; term++) {
		golden_tell(" %.6g", score.terms[term]);
	}
	golden_tell("\n");
	json_value_free(value);
	pod_free(pod);
	return score.total;
}

#define ONE_CORE                                                               \
	"{'containers':[{'resources':{'limits':{'cpu':'1600m'},'requests':{"   \
	"'cpu':'1'}}}]}"

/* U <= T: (100 - T) U / T + T; T < U <= 100: T (100 - U) / (100 - T); above
 * 100: 0. The pod adds its limit, a tenth of the node. */
static void packs_up_to_the_target_and_spreads_above(void **state)
{
	static const struct {
		double used_percent;
		const char *args;
		double score;
	} cases[] = {
		{ 0, "{}", 55 },
		{ 20, "{}", 85 },
		{ 30, "{}", 100 },
		{ 40, "{}", 33 },
		{ 90, "{}", 0 },
		{ 95, "{}", 0 },
		{ 50, "{'targetUtilization':70}", 96 },
		{ 75, "{'targetUtilization':70}", 35 },
		{ 30, "{'targetUtilization':0}", 100 },
		{ 20, "{'targetUtilization':-5}", 85 },
	};
	struct setting s = setting_new();

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		s.load.cpu_used_cores_15m = cases[i].used_percent * 0.16;
		assert_true(fabs(points(&s, "target-load-packing",
					 cases[i].args, ONE_CORE) -
				    cases[i].score) < 1e-9);
	}
	/* Without Average: Latest. Without both: 0. */
	s.load.cpu_used_cores_15m = NAN;
	s.load.cpu_used_cores = 3.2;
	assert_true(fabs(points(&s, "target-load-packing", "{}", ONE_CORE) -
			    85) < 1e-9);
	s.load.cpu_used_cores = NAN;
	assert_true(points(&s, "target-load-packing", "{}", ONE_CORE) <= 0);
	setting_fini(&s);
}

static void predicts_by_limit_then_request_then_default(void **state)
{
	struct setting s = setting_new();

	(void)state;
	s.load.cpu_used_cores_15m = 0;
	/* 1.6 = limit; 1 x 1.5; default 1; overhead 0.25 on top. */
	assert_true(fabs(points(&s, "target-load-packing", "{}",
				 "{'containers':[{'resources':{'requests':{"
				 "'cpu':'1'}}}]}") -
			    round(60 * (1.5 / 16 * 100) / 40 + 40)) < 1e-9);
	assert_true(fabs(points(&s, "target-load-packing",
				 "{'defaultRequests':{'cpu':'3200m'}}",
				 "{'containers':[{}],'overhead':{'cpu':"
				 "'800m'}}") -
			    round(60 * 25.0 / 40 + 40)) < 1e-9);
	assert_true(fabs(points(&s, "target-load-packing",
				 "{'defaultRequestsMultiplier':'3.2'}",
				 "{'containers':[{'resources':{'requests':{"
				 "'cpu':'1'}}}]}") -
			    round(60 * 20.0 / 40 + 40)) < 1e-9);
	setting_fini(&s);
}

/* Pods bound less than 60 s before the window's end count once more. */
static void adds_pods_that_the_window_misses(void **state)
{
	struct setting s = setting_new();
	struct pod *late = given_vm(s.interner, "late", 16);
	struct pod *early = given_vm(s.interner, "early", 16);
	struct pod *plain = given_spec(s.interner,
		"{'containers':[{'resources':{'limits':{'cpu':'800m'}}}]}");

	(void)state;
	s.load.cpu_used_cores_15m = 0;
	node_add_pod(s.node, late, 941 * second);
	node_add_pod(s.node, early, 940 * second);
	/* 1.6 cores x 1.5, and the pod's 1.6. */
	assert_true(fabs(points(&s, "target-load-packing", "{}", ONE_CORE) -
			    round(60 * 25.0 / 40 + 40)) < 1e-9);
	/* Pods of any kind. */
	node_add_pod(s.node, plain, 1100 * second);
	assert_true(fabs(points(&s, "target-load-packing", "{}", ONE_CORE) -
			    round(60 * 30.0 / 40 + 40)) < 1e-9);
	node_free(s.node);
	s.node = NULL;
	pod_free(late);
	pod_free(early);
	pod_free(plain);
	setting_fini(&s);
}

#define TENTH                                                                  \
	"{'containers':[{'resources':{'requests':{'cpu':'1600m','memory':"     \
	"'6871947674'}}}]}"

/* (1 - (mean + margin x deviation^(1/sensitivity)) / 2) x 100, the worse of
 * the two resources. */
static void combines_mean_and_variation(void **state)
{
	struct setting s = setting_new();

	(void)state;
	s.load.cpu_used_cores_15m = 0.3 * 16;
	s.load.cpu_stdev_cores_15m = 0.16 * 16;
	assert_true(fabs(points(&s, "load-variation-risk", "{}", TENTH) - 72) <
		1e-9);
	assert_true(fabs(points(&s, "load-variation-risk",
				 "{'safeVarianceMargin':2}", TENTH) -
			    64) < 1e-9);
	assert_true(fabs(points(&s, "load-variation-risk",
				 "{'safeVarianceSensitivity':2}", TENTH) -
			    60) < 1e-9);
	s.load.memory_used_bytes_15m = 0.7 * 64 * (1 << 30);
	assert_true(fabs(points(&s, "load-variation-risk", "{}", TENTH) - 60) <
		1e-9);
	/* Fully busy and steady: 50. */
	s.load.memory_used_bytes_15m = NAN;
	s.load.cpu_used_cores_15m = 16;
	s.load.cpu_stdev_cores_15m = NAN;
	assert_true(fabs(points(&s, "load-variation-risk", "{}", TENTH) - 50) <
		1e-9);
	s.load.cpu_used_cores_15m = NAN;
	assert_true(points(&s, "load-variation-risk", "{}", TENTH) <= 0);
	setting_fini(&s);
}

/* Mean 0.5 and deviation 0.1 x sqrt 5 = sqrt 0.05 fit a = b = 2, and then
 * I_x = 3 x^2 - 2 x^3. Without limits, limits equal requests. */
static void computes_the_risk_from_a_beta_distribution(void **state)
{
	struct setting s = setting_new();
	struct pod *there = given_spec(s.interner,
		"{'containers':[{'resources':{'requests':{'cpu':'4','memory':"
		"'1Gi'},'limits':{'cpu':'12'}}}]}");
	const double alone = 3 * 0.0625 - 2 * 0.015625;
	const double within = 3 * 0.5625 - 2 * 0.421875;

	(void)state;
	s.load.cpu_used_cores_15m = 8;
	s.load.cpu_stdev_cores_15m = 1.6;
	node_add_pod(s.node, there, 0);
	/* P(load <= requested) under P(load <= limit), half the weight. */
	assert_true(
		fabs(points(&s, "low-risk-overcommit", "{}", TENTH) -
			round(100 * (1 - 0.5 * (1 - alone / within)))) < 1e-9);
	assert_true(fabs(points(&s, "low-risk-overcommit",
				 "{'riskLimitWeights':{'cpu':0}}", TENTH) -
			    round(100 * alone / within)) < 1e-9);
	/* Smoothed over 20, a and b are 1/8: sigma^2 = 0.2. */
	assert_true(
		fabs(points(&s, "low-risk-overcommit",
			     "{'riskLimitWeights':{'cpu':0},"
			     "'smoothingWindowSize':20}",
			     TENTH) -
			round(100 * beta_probability(0.25, 0.125, 0.125) /
				beta_probability(0.75, 0.125, 0.125))) < 1e-9);
	/* Limits exceed the node by 4.8 and the requests by 16; the load has no
	 * weight. */
	assert_true(fabs(points(&s, "low-risk-overcommit",
				 "{'riskLimitWeights':{'cpu':1}}",
				 "{'containers':[{'resources':{'requests':{"
				 "'cpu':'800m'},'limits':{'cpu':'8800m'}}}]}") -
			    round(100 * (1 - 4.8 / 16))) < 1e-9);
	/* A pod without requests and limits scores 0. */
	assert_true(points(&s, "low-risk-overcommit", "{}", "{}") <= 0);
	node_free(s.node);
	s.node = NULL;
	pod_free(there);
	setting_fini(&s);
}

static void names_invalid_arguments(void **state)
{
	static const struct {
		const char *policy, *args, *text;
		int code;
	} cases[] = {
		{ "real-load", "{'x':1}",
			"policy 'real-load' has no argument 'x'", -EINVAL },
		{ "target-load-packing", "{'targetUtilization':'x'}",
			"'targetUtilization': is not a number", -EBADMSG },
		{ "load-variation-risk", "{'safeVarianceMargin':1e6}", "", 0 },
		{ "target-load-packing", "{'targetUtilization':-100}", "", 0 },
		{ "target-load-packing", "{'targetUtilization':100.1}",
			"'targetUtilization': is not between -100 and 100",
			-ERANGE },
		{ "load-variation-risk", "{'safeVarianceMargin':1e9}",
			"'safeVarianceMargin': is not between -1e+06 and 1e+06",
			-ERANGE },
		{ "target-load-packing", "{'defaultRequestsMultiplier':'1x'}",
			"'defaultRequestsMultiplier': is not a number from 0 "
			"to 1000",
			-EBADMSG },
		{ "kube-scheduler", "{'resources':[{'name':'x.y/gpu'}]}",
			"'resources': holds 'x.y/gpu', which is neither cpu "
			"nor memory",
			-EINVAL },
		{ "kube-scheduler", "{'resources':[{'name':'cpu','weight':0}]}",
			"'resources': has a weight below 1", -ERANGE },
		{ "kube-scheduler", "[]", "'policy_args' is not an object",
			-EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct json_value *args = given_json(cases[i].args);
		struct policy policy;
		struct error err = { 0 };

		assert_int_equal(
			policy_find(&policy, cases[i].policy, args, &err),
			cases[i].code);
		assert_string_equal(err.text, cases[i].text);
		json_value_free(args);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		golden_test(packs_up_to_the_target_and_spreads_above, NULL,
			golden_end),
		golden_test(predicts_by_limit_then_request_then_default, NULL,
			golden_end),
		golden_test(adds_pods_that_the_window_misses, NULL, golden_end),
		golden_test(combines_mean_and_variation, NULL, golden_end),
		golden_test(computes_the_risk_from_a_beta_distribution, NULL,
			golden_end),
		golden_test(names_invalid_arguments, NULL, golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
