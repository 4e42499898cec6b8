#include "scheduler/score/score.h"

#include <math.h>

#include "kube/time.h"
#include "tests/unit/scheduler/given.h"

static const int64_t second = 1000000;
static const int64_t now = 1000 * INT64_C(1000000);

/* A node, a pod and the context of the score. */
struct setting {
	struct interner *interner;
	struct node *node;
	struct pod *pod;
	struct score_context context;
};

static struct setting setting_new(void)
{
	struct setting s = {
		.interner = interner_new(),
		.context = { .now_us = now,
			.prior = { MODEL_SHARE, MODEL_DEVIATION } },
	};

	s.node = given_plain_node(s.interner, "n");
	s.pod = given_vm(s.interner, "vm", 4);
	return s;
}

static void setting_fini(struct setting *s)
{
	node_free(s->node);
	pod_free(s->pod);
	interner_free(s->interner);
}

/* The context for the current pod. */
static const struct score_context *context_of(struct setting *s)
{
	score_begin(&s->context, s->pod);
	return &s->context;
}

static double score_with(struct setting *s, const struct node_load *load,
	int64_t age_us)
{
	struct score score;
	double sum = 0;

	node_set_load(s->node, load, now - age_us, now);
	score_node(&score, s->node, context_of(s));
	for (int i = 0; i < SCORE_TERMS; i++) {
		assert_true(isnan(score.terms[i]) || score.terms[i] >= 0 ||
			i == TERM_REJECTED || i == TERM_FAILED);
		sum += isnan(score.terms[i]) ? 0 : score.terms[i];
	}
	assert_true(fabs(sum - score.total) < 1e-9);
	assert_true(score.total >= 0 && score.total <= 100);
	assert_true(fabs(score.total - score_total(s->node, context_of(s))) <
		1e-12);
	return score.total;
}

/* The figures that lower the score as they grow, with their ranges. */
static const struct {
	size_t offset;
	double most;
} worse[] = {
	{ offsetof(struct node_load, cpu_used_cores_10s), 40 },
	{ offsetof(struct node_load, cpu_used_cores_5m), 40 },
	{ offsetof(struct node_load, cpu_stdev_cores_5m), 16 },
	{ offsetof(struct node_load, cpu_contention), 1 },
	{ offsetof(struct node_load, memory_pressure_some), 1 },
	{ offsetof(struct node_load, io_pressure_some), 1 },
};

static double *figure(struct node_load *load, size_t offset)
{
	return (double *)(void *)((char *)load + offset);
}

/* No jumps: 1 in 200 of the range changes the score by less than 2 points. */
static void more_load_never_raises_the_score(void **state)
{
	struct setting s = setting_new();

	(void)state;
	for (size_t i = 0; i < count_of(worse); i++) {
		struct node_load load = given_load(4, 4e9);
		double before = 101;

		load.cpu_contention = 0;
		for (int step = 0; step <= 200; step++) {
			double score;

			*figure(&load, worse[i].offset) =
				worse[i].most * step / 200;
			score = score_with(&s, &load, 0);
			assert_true(score <= before);
			assert_true(step == 0 || before - score < 2);
			before = score;
		}
	}
	setting_fini(&s);
}

static void less_free_memory_never_raises_the_score(void **state)
{
	struct setting s = setting_new();
	double before = 101;

	(void)state;
	for (int step = 0; step <= 100; step++) {
		struct node_load load =
			given_load(4, 64.0 * (1 << 30) * step / 100);
		double score = score_with(&s, &load, 0);

		assert_true(
			score <= before && (step == 0 || before - score < 2));
		before = score;
	}
	setting_fini(&s);
}

static void orders_overloaded_nodes_too(void **state)
{
	struct setting s = setting_new();
	struct node_load busy = given_load(20, 0);
	struct node_load busier = given_load(30, 0);

	(void)state;
	assert_true(score_with(&s, &busier, 0) < score_with(&s, &busy, 0) - 1);
	setting_fini(&s);
}

static void an_idle_node_scores_nearly_everything(void **state)
{
	struct setting s = setting_new();
	struct node_load idle = given_load(0, 0);
	double score = score_with(&s, &idle, 0);

	(void)state;
	assert_true(score > 95);
	assert_true(score < 100);
	setting_fini(&s);
}

static void bigger_vms_and_vms_on_their_way_lower_the_score(void **state)
{
	struct setting s = setting_new();
	struct pod *big = given_vm(s.interner, "big", 16);
	struct node_load load = given_load(4, 0);
	double small = score_with(&s, &load, 0);
	struct pod *swap = s.pod;

	(void)state;
	s.pod = big;
	assert_true(score_with(&s, &load, 0) < small);
	s.pod = swap;
	node_add_pod(s.node, big, now - second);
	assert_true(score_with(&s, &load, 0) < small - 1);
	pod_free(big);
	setting_fini(&s);
}

/* Until an hour before, nothing changes. */
static void an_announced_use_counts_for_the_pod_and_on_the_node(void **state)
{
	struct setting s = setting_new();
	struct announcement announced = { 0 };
	struct node_load load = given_load(4, 0);
	struct score score;
	double before = score_with(&s, &load, 0);

	(void)state;
	assert_int_equal(
		announcement_parse(&announced, "3 from 18:00 to 19:00", NULL),
		0);
	s.pod->announced = &announced;
	node_set_wall_offset(s.node, INT64_C(16) * 3600 * second - now);
	assert_true(fabs(score_with(&s, &load, 0) - before) < 1e-9);
	node_set_wall_offset(s.node, INT64_C(17) * 3600 * second - now);
	assert_true(score_with(&s, &load, 0) < before - 0.1);
	score_node(&score, s.node, context_of(&s));
	assert_true(fabs(score.announced_by_pod - 2) < 1e-9);
	assert_true(score.announced_by_others <= 0);
	node_add_pod(s.node, s.pod, now - second);
	score_node(&score, s.node, context_of(&s));
	assert_true(score.announced_by_others > 1.9);
	node_remove_pod(s.node, s.pod);
	s.pod->announced = NULL;
	setting_fini(&s);
}

/* Its CPUs do not count as shared cores, nor its use as measured use. */
static void a_vm_with_its_own_cpus_leaves_the_others_the_rest(void **state)
{
	struct setting s = setting_new();
	struct pod *dedicated = given_vm(s.interner, "dedicated", 8);
	struct node_load load = given_load(9, 0);
	struct vm_load seen = given_vm_load(dedicated, 8);
	struct score score;

	(void)state;
	load.vms = &seen;
	load.vm_count = 1;
	node_add_pod(s.node, dedicated, TIME_LONG_AGO);
	(void)score_with(&s, &load, 0);
	score_node(&score, s.node, context_of(&s));
	assert_true(fabs(score.cpu_measured - 9.0 / 16) < 1e-9);
	node_remove_pod(s.node, dedicated);

	dedicated->is_dedicated = true;
	node_add_pod(s.node, dedicated, TIME_LONG_AGO);
	(void)score_with(&s, &load, 0);
	score_node(&score, s.node, context_of(&s));
	assert_true(fabs(score.cpu_measured - 1.0 / 8) < 1e-9);
	assert_true(fabs(score.cpu_expected - MODEL_SHARE * 4 / 8) < 1e-9);
	node_remove_pod(s.node, dedicated);

	/* The next such VM takes half of the cores and uses no shared cores. */
	s.pod->is_dedicated = true;
	s.pod->vcpus = 8;
	load.vm_count = 0;
	load.cpu_used_cores_10s = 4;
	load.cpu_used_cores_5m = 4;
	(void)score_with(&s, &load, 0);
	score_node(&score, s.node, context_of(&s));
	assert_true(fabs(score.cpu_measured - 4.0 / 16) < 1e-9);
	assert_true(
		fabs(score.terms[TERM_CPU] -
			SCORE_CPU *
				(1 - SCORE_ROOM_PART +
					SCORE_ROOM_PART *
						score_headroom(model_headroom(4,
							0, 8)))) < 1e-9);
	pod_free(dedicated);
	setting_fini(&s);
}

static void stale_data_fades_into_the_score_by_requests(void **state)
{
	struct setting s = setting_new();
	struct node_load load = given_load(14, 60e9);
	double by_requests = score_total(s.node, context_of(&s));
	double before = score_with(&s, &load, 0);

	(void)state;
	assert_true(before < by_requests - 20);
	for (int64_t age_s = 1; age_s <= 310; age_s++) {
		double score = score_with(&s, &load, age_s * second);

		assert_true(fabs(score - before) < 0.5);
		assert_true(age_s > 15 || fabs(score - before) < 1e-9);
		before = score;
	}
	assert_true(fabs(before - by_requests) < 1e-9);
	setting_fini(&s);
}

static void a_node_without_data_scores_a_little_less(void **state)
{
	struct setting s = setting_new();
	struct node_load idle = given_load(0, 0);
	double unknown = score_total(s.node, context_of(&s));
	double known = score_with(&s, &idle, 0);

	(void)state;
	assert_true(fabs(known - unknown - SCORE_KVM - SCORE_DATA) < 1e-9);
	setting_fini(&s);
}

static void an_unknown_node_is_not_idle_while_the_others_are_busy(void **state)
{
	struct setting s = setting_new();
	struct node_load busy = given_load(12, 0);
	double unknown;

	(void)state;
	s.context.cluster_cpu = 12.0 / 16;
	unknown = score_total(s.node, context_of(&s));
	assert_true(unknown < score_with(&s, &busy, 0));
	setting_fini(&s);
}

static void a_node_without_data_counts_its_vms(void **state)
{
	struct setting s = setting_new();
	struct pod *big = given_vm(s.interner, "big", 32);
	struct score score;

	(void)state;
	node_add_pod(s.node, big, TIME_LONG_AGO);
	score_node(&score, s.node, context_of(&s));
	/* A quarter of 32 + 4 vCPUs; requests would say 3.6 of 16. */
	assert_true(fabs(score.cpu_by_requests - 9.0 / 16) < 1e-9);
	assert_true(isnan(score.cpu_measured));
	pod_free(big);
	setting_fini(&s);
}

static void unverified_kvm_costs_a_little_for_vms_only(void **state)
{
	struct setting s = setting_new();
	struct node_load load = given_load(4, 0);
	double verified = score_with(&s, &load, 0);
	struct pod *vm = s.pod;
	double unverified;

	(void)state;
	load.kvm_state = KVM_UNVERIFIED;
	unverified = score_with(&s, &load, 0);
	assert_true(fabs(verified - unverified - SCORE_KVM) < 1e-9);
	s.pod = given_spec(s.interner, "{}");
	unverified = score_with(&s, &load, 0);
	load.kvm_state = KVM_OK;
	assert_true(fabs(score_with(&s, &load, 0) - unverified) < 1e-9);
	pod_free(s.pod);
	s.pod = vm;
	setting_fini(&s);
}

static void a_load_without_cpu_counts_as_no_data(void **state)
{
	struct setting s = setting_new();
	struct node_load load;
	double unknown = score_total(s.node, context_of(&s));

	(void)state;
	node_load_init(&load);
	assert_true(fabs(score_with(&s, &load, 0) - unknown) < 1e-9);
	setting_fini(&s);
}

static void survives_a_node_without_anything(void **state)
{
	struct setting s = setting_new();
	struct node_load load = given_load(4, 0);
	double score;

	(void)state;
	node_free(s.node);
	s.node = given_node(s.interner, "{'metadata':{'name':'n'}}");
	score = score_total(s.node, context_of(&s));
	assert_true(score >= 0 && score < 50);
	load.cpu_cores = NAN;
	load.memory_total_bytes = 0;
	load.memory_available_bytes = 0;
	score = score_with(&s, &load, 0);
	assert_true(score >= 0 && score < 50);
	setting_fini(&s);
}

#define PREFER(weight, zone)                                                   \
	"{'weight':" weight                                                    \
	",'preference':{'matchExpressions':[{'key':"                           \
	"'zone','operator':'In','values':['" zone "']}]}}"

/* As upstream: a preferred node under the worst load beats any idle node. */
static void load_does_not_cancel_a_preference(void **state)
{
	struct setting s = setting_new();
	struct node *preferred = given_node(s.interner,
		"{'metadata':{'name':'w','labels':{'zone':'a'}}}");
	struct node_load load = given_load(0, 0);
	struct preferences preferences;
	struct affinity affinity = { 0 };
	struct spread spread = { 0 };
	double idle;

	(void)state;
	pod_free(s.pod);
	s.pod = given_spec(s.interner,
		"{'affinity':{'nodeAffinity':{'preferredDuringScheduling"
		"IgnoredDuringExecution':[" PREFER("10", "a") "]}}}");
	preferences_begin(&preferences, s.pod, &affinity, &spread);
	preferences_add_node(&preferences, preferred);
	s.context.preferences = &preferences;
	idle = score_with(&s, &load, 0);
	load.cpu_used_cores_10s = 32;
	load.cpu_used_cores_5m = 32;
	node_set_load(preferred, &load, now, now);
	assert_true(score_total(preferred, context_of(&s)) > idle);
	assert_true(idle < 50.1);
	node_free(preferred);
	setting_fini(&s);
}

static void intolerable_taints_cost_points(void **state)
{
	struct setting s = setting_new();
	struct node *tainted = given_node(s.interner,
		"{'metadata':{'name':'t'},'spec':{'taints':[{'key':'k',"
		"'effect':'PreferNoSchedule'}]},'status':{'allocatable':{"
		"'cpu':'16','memory':'64Gi'}}}");
	struct node_load load = given_load(4, 0);
	struct preferences preferences;
	struct affinity affinity = { 0 };
	struct spread spread = { 0 };
	double clean;

	(void)state;
	preferences_begin(&preferences, s.pod, &affinity, &spread);
	preferences_add_node(&preferences, tainted);
	s.context.preferences = &preferences;
	clean = score_with(&s, &load, 0);
	node_set_load(tainted, &load, now, now);
	assert_true(
		fabs(clean - score_total(tainted, context_of(&s)) - 60) < 1e-9);
	node_free(tainted);
	setting_fini(&s);
}

static void scores_keep_falling_with_load(void **state)
{
	(void)state;
	assert_true(fabs(score_headroom(0) - 0.5) < 1e-12);
	assert_true(score_headroom(1e6) <= 1 && score_headroom(-1e6) >= 0);
	assert_true(fabs(score_memory(SCORE_MEMORY_FULL) - 0.5) < 1e-12);
	assert_true(score_memory(0.5) > 0.99 && score_memory(1000) > 0);
	for (int i = 0; i < 400; i++) {
		assert_true(score_headroom((i - 199) * 0.1) >
			score_headroom((i - 200) * 0.1));
		assert_true(
			score_memory((i + 1) * 0.01) <= score_memory(i * 0.01));
	}
}

static void each_term_has_a_name(void **state)
{
	(void)state;
	assert_string_equal(score_term_name(TERM_CPU), "cpu");
	assert_string_equal(
		score_term_name(TERM_PREFERENCES + PREFERENCE_TAINT), "taint");
	assert_true(fabs(SCORE_CPU + SCORE_MEMORY + SCORE_CONTENTION +
			    SCORE_MEMORY_PRESSURE + SCORE_IO_PRESSURE +
			    SCORE_KVM + SCORE_DATA - 100) < 1e-9);
}

/* The score of the node with this share of 16 cores in use. */
static double score_at(struct setting *s, double share)
{
	struct node_load load = given_load(16 * share, 0);

	return score_with(s, &load, 0);
}

static void one_rejection_does_not_outweigh_the_load(void **state)
{
	struct setting s = setting_new();
	double busy = score_at(&s, 0.88);
	double idle = score_at(&s, 0.02);
	(void)state;

	rejections_add(&s.node->rejections, 1, now);
	assert_true(score_at(&s, 0.02) < idle);
	assert_true(score_at(&s, 0.02) > busy);
	/* Nodes with the same load: the other one comes first. */
	assert_true(score_at(&s, 0.88) < busy);
	setting_fini(&s);
}

static void a_node_that_rejects_everything_is_avoided(void **state)
{
	struct setting s = setting_new();
	double busy = score_at(&s, 0.88);
	(void)state;

	for (uint32_t vm = 0; vm < 99; vm++) {
		rejections_add(&s.node->rejections, vm, now);
	}
	assert_true(score_at(&s, 0.02) < busy);
	assert_true(score_at(&s, 0.02) > 0);
	setting_fini(&s);
}

static void the_node_on_which_this_vm_failed_comes_last(void **state)
{
	struct setting s = setting_new();
	struct vm_failures failures = { 0 };
	double worst = score_at(&s, 3);
	double whole = score_at(&s, 0.02);
	(void)state;

	vm_failures_add(&failures, "d", "vm", "n", now);
	s.context.failures = vm_failures_of(&failures, "d", "vm");
	assert_true(score_at(&s, 0.02) < worst);
	assert_true(score_at(&s, 0.02) > score_at(&s, 0.88));
	/* Another VM, and the end of the wait. */
	s.context.failures = vm_failures_of(&failures, "d", "other");
	assert_true(score_at(&s, 0.02) >= whole);
	s.context.failures = vm_failures_of(&failures, "d", "vm");
	s.context.now_us = now + VM_FAILURES_WAIT_US;
	assert_true(score_total(s.node, context_of(&s)) > worst);
	setting_fini(&s);
	vm_failures_fini(&failures);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_load_never_raises_the_score),
		cmocka_unit_test(less_free_memory_never_raises_the_score),
		cmocka_unit_test(orders_overloaded_nodes_too),
		cmocka_unit_test(an_idle_node_scores_nearly_everything),
		cmocka_unit_test(
			bigger_vms_and_vms_on_their_way_lower_the_score),
		cmocka_unit_test(
			an_announced_use_counts_for_the_pod_and_on_the_node),
		cmocka_unit_test(
			a_vm_with_its_own_cpus_leaves_the_others_the_rest),
		cmocka_unit_test(stale_data_fades_into_the_score_by_requests),
		cmocka_unit_test(a_node_without_data_scores_a_little_less),
		cmocka_unit_test(
			an_unknown_node_is_not_idle_while_the_others_are_busy),
		cmocka_unit_test(a_node_without_data_counts_its_vms),
		cmocka_unit_test(unverified_kvm_costs_a_little_for_vms_only),
		cmocka_unit_test(a_load_without_cpu_counts_as_no_data),
		cmocka_unit_test(survives_a_node_without_anything),
		cmocka_unit_test(load_does_not_cancel_a_preference),
		cmocka_unit_test(intolerable_taints_cost_points),
		cmocka_unit_test(scores_keep_falling_with_load),
		cmocka_unit_test(each_term_has_a_name),
		cmocka_unit_test(one_rejection_does_not_outweigh_the_load),
		cmocka_unit_test(a_node_that_rejects_everything_is_avoided),
		cmocka_unit_test(the_node_on_which_this_vm_failed_comes_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
