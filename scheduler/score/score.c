#include "scheduler/score/score.h"

#include "scheduler/objects/pod_kin.h"
#include "scheduler/score/cpu_term.h"
#include "scheduler/score/score_math.h"

#include <math.h>
#include <stdbool.h>

double score_memory(double share)
{
	double x = share / SCORE_MEMORY_FULL;

	x *= x;
	x *= x;
	return 1 / (1 + x * x);
}

double score_counted(double value, double half, double trust)
{
	double points = trust * score_falling(value, half) + 1 - trust;

	return isnan(value) || trust >= 1 ? value : half * (1 / points - 1);
}

/* An average VM, or one with usage of its own. */
void score_begin(struct score_context *context, const struct pod *pod)
{
	const struct model_vm vm = { .vcpus = pod->vcpus, .usage = pod->usage };
	struct model_sum sum = { 0 };

	struct model_prior prior = context->prior;
	struct kin_figures figures = { 0 };

	context->pod = pod;
	context->pod_load =
		(struct model_forecast){ .cores = pod->expected_cores };
	context->kin = (struct kin_vm){ 0 };
	if (pod->is_dedicated) {
		context->pod_load.cores = 0;
	} else if (pod->is_vm) {
		const struct kin_keys keys = pod_kin(pod);

		figures.kin = keys.by[0];
		if (context->known_kin != NULL) {
			figures = kin_table_figures(context->known_kin, &keys);
		}
		context->kin.kin = figures.kin;
		prior.share += figures.more;
		model_add(&sum, &vm);
		context->pod_load = model_expected(&sum, prior);
		context->kin.rho = figures.rho;
		context->kin.vcpus = pod->vcpus;
		context->kin.variance = context->pod_load.variance;
	}
}

static double memory_points(struct score *s, const struct node *node,
	const struct score_context *context)
{
	const struct node_metrics *m = &node->metrics;
	double requested = (double)context->pod->requests.memory_bytes;
	double used = score_share(m->memory_total - m->memory_available +
			node_vms_memory(&node->vms, context->now_us) +
			requested,
		m->memory_total);
	bool is_known = !isnan(m->memory_total) && !isnan(m->memory_available);

	s->memory_by_requests =
		score_share((double)node->memory_bytes_requested + requested,
			(double)node->memory_bytes);
	s->memory_expected = score_larger(used, s->memory_by_requests);
	return SCORE_MEMORY *
		score_blend(is_known ? s->trust : 0,
			score_memory(score_larger(used, s->memory_by_requests)),
			score_memory(s->memory_by_requests));
}

static void add(struct score *s, enum score_term term, double points)
{
	s->terms[term] = points;
	s->total += points;
}

static void add_falling(struct score *s, enum score_term term, double points,
	double value, double half)
{
	add(s, term,
		points * score_blend(s->trust, score_falling(value, half), 1));
}

static void add_load(struct score *s, const struct node *node,
	const struct score_context *context)
{
	const struct node_metrics *m = &node->metrics;
	const struct pod *pod = context->pod;
	bool works = !pod->requests_kvm || m->kvm_state == KVM_OK;

	add(s, TERM_CPU, cpu_term_points(s, node, context));
	add(s, TERM_MEMORY, memory_points(s, node, context));
	add_falling(s, TERM_CONTENTION, SCORE_CONTENTION, m->contention,
		SCORE_HALF_CONTENTION);
	add_falling(s, TERM_MEMORY_PRESSURE, SCORE_MEMORY_PRESSURE,
		m->memory_pressure, SCORE_HALF_MEMORY_PRESSURE);
	add_falling(s, TERM_IO_PRESSURE, SCORE_IO_PRESSURE, m->io_pressure,
		SCORE_HALF_IO_PRESSURE);
	add(s, TERM_KVM,
		SCORE_KVM * score_blend(s->trust, works, !pod->requests_kvm));
	add(s, TERM_DATA, SCORE_DATA * s->trust);
}

/* Scales the score down and adds the preferences. */
static void mix_preferences(struct score *s, const struct node *node,
	const struct preferences *preferences)
{
	double weights = SCORE_WEIGHT_LOAD;

	if (preferences == NULL) {
		return;
	}
	for (int i = 0; i < PREFERENCES; i++) {
		if (preferences_applies(preferences, (enum preference)i)) {
			weights += preferences_weight((enum preference)i);
		}
	}
	if (weights <= SCORE_WEIGHT_LOAD) {
		return;
	}
	/* The terms of upstream policies stay upstream's figures. */
	for (int i = TERM_CPU; i <= TERM_REJECTED; i++) {
		s->terms[i] *= SCORE_WEIGHT_LOAD / weights;
	}
	s->total *= SCORE_WEIGHT_LOAD / weights;
	for (int i = 0; i < PREFERENCES; i++) {
		enum preference preference = (enum preference)i;

		if (preferences_applies(preferences, preference)) {
			s->terms[TERM_PREFERENCES + i] =
				preferences_weight(preference) / weights *
				preferences_points(preferences, preference,
					node);
			s->total += s->terms[TERM_PREFERENCES + i];
		}
	}
}

/* For some time after the node's kubelet rejected pods. */
static void subtract_rejection(struct score *s, const struct node *node,
	int64_t now_us)
{
	double cost = rejections_cost(&node->rejections, now_us);

	if (cost > 0) {
		s->terms[TERM_REJECTED] = -s->total * cost;
		s->total += s->terms[TERM_REJECTED];
	}
}

/* While this VM waits before it tries this node again. Counts after the
 * preferences, which the node may meet better than any other. */
static void subtract_failure(struct score *s, const struct node *node,
	const struct score_context *context)
{
	if (context->failures != NULL &&
		vm_failures_node_until(context->failures, node->name) >
			context->now_us) {
		s->terms[TERM_FAILED] = -s->total * SCORE_FAILURE_COST;
		s->total += s->terms[TERM_FAILED];
	}
}

static void score_real_load(struct score *s, const struct node *node,
	const struct score_context *context)
{
	s->total = 0;
	add_load(s, node, context);
	subtract_rejection(s, node, context->now_us);
}

static void read_metrics(struct score *s, const struct node *node,
	int64_t now_us)
{
	s->trust = node_metrics_trust(&node->metrics, now_us);
	s->cpu_measured = NAN;
	s->cpu_expected = NAN;
	s->cpu_by_requests = NAN;
	s->memory_by_requests = NAN;
	s->contention = NAN;
	s->announced_by_pod = 0;
	s->announced_by_others = 0;
	if (s->trust > 0) {
		s->cpu_measured = score_share(node_used_cores(node),
			node_shared_cores(node));
		s->contention = node->metrics.contention;
	}
	/* A report without CPU figures counts as no report. */
	if (isnan(s->cpu_measured)) {
		s->trust = 0;
	}
}

static bool is_real_load(const struct policy *policy)
{
	return policy == NULL || policy->score == NULL;
}

static void score_all(struct score *s, const struct node *node,
	const struct score_context *context)
{
	const struct policy *policy = context->policy;

	read_metrics(s, node, context->now_us);
	for (int i = 0; i < SCORE_TERMS; i++) {
		s->terms[i] = NAN;
	}
	if (is_real_load(policy)) {
		score_real_load(s, node, context);
	} else {
		policy->score(s, context->pod, node, policy);
	}
	mix_preferences(s, node, context->preferences);
	subtract_failure(s, node, context);
}

/* ---- for explanations ---- */

/* The inverse of score_memory(). */
static double memory_of(double goodness)
{
	return SCORE_MEMORY_FULL * pow(1 / goodness - 1, 1.0 / 8);
}

static double counted_memory(const struct score *s)
{
	if (s->trust <= 0 || s->trust >= 1) {
		return s->trust > 0 ? s->memory_expected
				    : s->memory_by_requests;
	}
	return memory_of(score_blend(s->trust, score_memory(s->memory_expected),
		score_memory(s->memory_by_requests)));
}

static void explain(struct score *s, const struct node *node,
	const struct score_context *context)
{
	const struct kin_group *kin =
		kin_sums_group(&node->vms.kin, context->kin.kin);

	cpu_term_explain(s, node, context);
	s->memory_expected = counted_memory(s);
	s->siblings = kin == NULL ? 0 : kin->count;
}

void score_node(struct score *out, const struct node *node,
	const struct score_context *context)
{
	out->by_load = out->by_requests = (struct score_cpu){ 0 };
	out->memory_expected = NAN;
	out->cpu_room = out->cpu_deviation = NAN;
	out->cpu_shortage = out->cpu_shortage_added = out->siblings = NAN;
	out->cpu_by_pod = out->cpu_by_starting = out->cpu_by_growth = NAN;
	out->cpu_announced_by_pod = out->cpu_announced_by_others = NAN;
	out->cpu_announced_by_requests = NAN;
	score_all(out, node, context);
	if (is_real_load(context->policy)) {
		explain(out, node, context);
	}
}

double score_total(const struct node *node, const struct score_context *context)
{
	struct score score;

	/* The terms are not returned, so the others need not be NAN. */
	if (is_real_load(context->policy) && context->preferences == NULL) {
		read_metrics(&score, node, context->now_us);
		score_real_load(&score, node, context);
		subtract_failure(&score, node, context);
	} else {
		score_all(&score, node, context);
	}
	return score.total;
}

const char *score_term_name(enum score_term term)
{
	static const char *const names[] = {
		[TERM_CPU] = "cpu",
		[TERM_MEMORY] = "memory",
		[TERM_CONTENTION] = "contention",
		[TERM_MEMORY_PRESSURE] = "memory_pressure",
		[TERM_IO_PRESSURE] = "io_pressure",
		[TERM_KVM] = "kvm",
		[TERM_DATA] = "data",
		[TERM_REJECTED] = "rejected",
		[TERM_FAILED] = "failed",
		[TERM_LEAST_ALLOCATED] = "LeastAllocated",
		[TERM_BALANCED_ALLOCATION] = "BalancedAllocation",
		[TERM_TARGET_LOAD_PACKING] = "TargetLoadPacking",
		[TERM_LOAD_VARIATION_RISK] = "LoadVariationRiskBalancing",
		[TERM_LOW_RISK_OVERCOMMIT] = "LowRiskOverCommitment",
		[TERM_PREFERENCES + PREFERENCE_AFFINITY] = "affinity",
		[TERM_PREFERENCES + PREFERENCE_TAINT] = "taint",
		[TERM_PREFERENCES + PREFERENCE_POD_AFFINITY] = "pod_affinity",
		[TERM_PREFERENCES + PREFERENCE_SPREAD] = "spread",
	};

	return names[term];
}
