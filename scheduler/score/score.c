#include "scheduler/score/score.h"

#include <math.h>
#include <stdbool.h>

/* The share of a resource that the node does not have, if any is used. */
static const double overfull = 1000;

static double share(double used, double of)
{
	if (of > 0) {
		return used / of;
	}
	return used > 0 ? overfull : 0;
}

double score_headroom(double headroom)
{
	double root =
		sqrt(headroom * headroom + SCORE_HEADROOM * SCORE_HEADROOM);

	return (1 + headroom / root) / 2;
}

double score_memory(double share)
{
	double x = share / SCORE_MEMORY_FULL;

	x *= x;
	x *= x;
	return 1 / (1 + x * x);
}

/* 1 at 0, a half at `half`, never 0. Unknown (NAN) values give 1: the data term
 * accounts for them. */
static double falling(double value, double half)
{
	return value > 0 ? half / (half + value) : 1;
}

double score_counted(double value, double half, double trust)
{
	double points = trust * falling(value, half) + 1 - trust;

	return isnan(value) || trust >= 1 ? value : half * (1 / points - 1);
}

/* Ignores `measured` without trust, because it may be NAN. The first case only
 * saves time: the result is the same to the last bit. */
static double blend(double trust, double measured, double otherwise)
{
	if (trust >= 1) {
		return measured;
	}
	return trust > 0 ? trust * measured + (1 - trust) * otherwise
			 : otherwise;
}

/* fmax() would be a call. b if a is NAN. */
static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double room_of(const struct score_cpu *cpu)
{
	return model_headroom(cpu->expected, cpu->variance, cpu->cores);
}

/* Cores that the pod would take from the shared cores. */
static double dedicated_cores_of(const struct pod *pod)
{
	return pod->is_dedicated ? pod->vcpus : 0;
}

/* An average VM, or one with usage of its own. */
void score_begin(struct score_context *context, const struct pod *pod)
{
	const struct model_vm vm = { .vcpus = pod->vcpus, .usage = pod->usage };
	struct model_sum sum = { 0 };

	context->pod = pod;
	context->pod_cores = pod->expected_cores;
	context->pod_variance = 0;
	if (pod->is_dedicated) {
		context->pod_cores = 0;
	} else if (pod->is_vm) {
		model_add(&sum, &vm);
		context->pod_cores = model_cores(&sum, context->prior);
		context->pod_variance = model_variance(&sum, context->prior);
	}
}

/* An announcement raises the expected use, up to the VM's vCPUs. */
static double pod_cores_on(struct score *s, const struct node *node,
	const struct score_context *context)
{
	const struct pod *pod = context->pod;
	double announced;

	s->announced_by_pod = 0;
	if (pod->announced == NULL || pod->is_dedicated) {
		return context->pod_cores;
	}
	announced = announcement_cores(pod->announced,
		context->now_us + node->vms.wall_offset_us);
	announced = announced < pod->vcpus ? announced : pod->vcpus;
	if (announced > context->pod_cores) {
		s->announced_by_pod = announced - context->pod_cores;
	}
	return context->pod_cores + s->announced_by_pod;
}

/* The largest, with this pod, of the pods' requests, the expected use of the
 * node's VMs, and the use of other nodes. VMs request only a tenth of their
 * vCPUs. */
static double headroom_by_requests(struct score *s, const struct node *node,
	const struct score_context *context, double pod_cores)
{
	const struct pod *pod = context->pod;
	double dedicated = node->vms.dedicated_cores + dedicated_cores_of(pod);
	double cores = (double)node->cpu_milli / 1000 - dedicated;
	double requested = (double)node->cpu_milli_requested / 1000 +
		(double)pod->requests.cpu_milli / 1000 - dedicated;
	double variance = context->pod_variance;
	double expected;

	variance += model_variance(&node->vms.seen, context->prior) +
		model_variance(&node->vms.unseen, context->prior);
	expected = pod_cores + (double)node->expected_milli / 1000 +
		model_cores(&node->vms.seen, context->prior) +
		model_cores(&node->vms.unseen, context->prior) +
		s->announced_by_others;
	s->cpu_by_requests =
		larger(context->cluster_cpu + share(pod_cores, cores),
			share(larger(requested, expected), cores));
	s->by_requests = (struct score_cpu){ cores, pod_cores,
		s->cpu_by_requests * cores, variance };
	return room_of(&s->by_requests);
}

static double announced_by_others(const struct node *node,
	const struct score_context *context)
{
	const struct node_vms_announced more =
		node_vms_announced(&node->vms, context->prior, context->now_us);

	return more.seen + more.unseen;
}

static double cpu_points(struct score *s, const struct node *node,
	const struct score_context *context)
{
	double cores =
		node_shared_cores(node) - dedicated_cores_of(context->pod);
	double pod_cores = pod_cores_on(s, node, context);
	double measured = 0;
	double by_requests = 0;
	double load, variance;

	s->announced_by_others = announced_by_others(node, context);
	if (s->trust > 0) {
		node_expected_load(node, context->prior, context->now_us, &load,
			&variance);
		s->cpu_expected =
			share(pod_cores + load, cores) - s->cpu_measured;
		s->by_load = (struct score_cpu){ cores, pod_cores,
			pod_cores + load, context->pod_variance + variance };
		measured = score_headroom(room_of(&s->by_load));
	}
	if (s->trust < 1) {
		by_requests = score_headroom(
			headroom_by_requests(s, node, context, pod_cores));
	}
	return SCORE_CPU * blend(s->trust, measured, by_requests);
}

static double memory_points(struct score *s, const struct node *node,
	const struct score_context *context)
{
	const struct node_metrics *m = &node->metrics;
	double requested = (double)context->pod->requests.memory_bytes;
	double used = share(m->memory_total - m->memory_available +
			node_vms_memory(&node->vms, context->now_us) +
			requested,
		m->memory_total);
	bool is_known = !isnan(m->memory_total) && !isnan(m->memory_available);

	s->memory_by_requests =
		share((double)node->memory_bytes_requested + requested,
			(double)node->memory_bytes);
	s->memory_expected = larger(used, s->memory_by_requests);
	return SCORE_MEMORY *
		blend(is_known ? s->trust : 0,
			score_memory(larger(used, s->memory_by_requests)),
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
	add(s, term, points * blend(s->trust, falling(value, half), 1));
}

static void add_load(struct score *s, const struct node *node,
	const struct score_context *context)
{
	const struct node_metrics *m = &node->metrics;
	const struct pod *pod = context->pod;
	bool works = !pod->requests_kvm || m->kvm_state == KVM_OK;

	add(s, TERM_CPU, cpu_points(s, node, context));
	add(s, TERM_MEMORY, memory_points(s, node, context));
	add_falling(s, TERM_CONTENTION, SCORE_CONTENTION, m->contention,
		SCORE_HALF_CONTENTION);
	add_falling(s, TERM_MEMORY_PRESSURE, SCORE_MEMORY_PRESSURE,
		m->memory_pressure, SCORE_HALF_MEMORY_PRESSURE);
	add_falling(s, TERM_IO_PRESSURE, SCORE_IO_PRESSURE, m->io_pressure,
		SCORE_HALF_IO_PRESSURE);
	add(s, TERM_KVM,
		SCORE_KVM * blend(s->trust, works, !pod->requests_kvm));
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
		s->cpu_measured =
			share(node_used_cores(node), node_shared_cores(node));
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

static double deviation_of(const struct score_cpu *cpu)
{
	double uncertainty = MODEL_UNCERTAINTY * cpu->cores;

	return share(sqrt(larger(cpu->variance, 0) + uncertainty * uncertainty),
		cpu->cores);
}

/* The inverse of score_headroom(). */
static double headroom_of(double goodness)
{
	double root = 2 * sqrt(larger(goodness * (1 - goodness), 1e-12));

	return SCORE_HEADROOM * (2 * goodness - 1) / root;
}

/* The inverse of score_memory(). */
static double memory_of(double goodness)
{
	return SCORE_MEMORY_FULL * pow(1 / goodness - 1, 1.0 / 8);
}

/* The room that gives the points of the term: with figures of half trust,
 * there are two rooms. */
static double counted_room(const struct score *s)
{
	if (s->trust <= 0 || s->trust >= 1) {
		return room_of(s->trust > 0 ? &s->by_load : &s->by_requests);
	}
	return headroom_of(blend(s->trust, score_headroom(room_of(&s->by_load)),
		score_headroom(room_of(&s->by_requests))));
}

static double counted_memory(const struct score *s)
{
	if (s->trust <= 0 || s->trust >= 1) {
		return s->trust > 0 ? s->memory_expected
				    : s->memory_by_requests;
	}
	return memory_of(blend(s->trust, score_memory(s->memory_expected),
		score_memory(s->memory_by_requests)));
}

/* The share of cpu_by_requests that there is for announcements alone. */
static double announced_by_requests(const struct score *s,
	const struct node *node, const struct score_context *context)
{
	struct score without = *s;

	without.announced_by_others = 0;
	(void)headroom_by_requests(&without, node, context, context->pod_cores);
	return s->cpu_by_requests - without.cpu_by_requests;
}

/* A pod with dedicated CPUs uses none of the shared cores, and there are fewer
 * of them: this raises the share of all use before it. */
static void split_expected(struct score *s, const struct node *node,
	double starting)
{
	double cores = node_shared_cores(node);
	double load = s->by_load.expected - s->by_load.by_pod;

	s->cpu_by_pod = share(s->by_load.by_pod, s->by_load.cores) +
		larger(share(load, s->by_load.cores) - share(load, cores), 0);
	s->cpu_by_starting = share(starting, cores);
	s->cpu_by_growth =
		larger(s->cpu_expected - s->cpu_by_pod - s->cpu_by_starting, 0);
	s->cpu_announced_by_pod = share(s->announced_by_pod, s->by_load.cores);
	s->cpu_announced_by_others =
		fmin(share(s->announced_by_others, cores), s->cpu_by_growth);
}

static void explain(struct score *s, const struct node *node,
	const struct score_context *context)
{
	double starting = 0, variance = 0;

	s->cpu_room = counted_room(s);
	s->cpu_deviation = blend(s->trust, deviation_of(&s->by_load),
		deviation_of(&s->by_requests));
	s->memory_expected = counted_memory(s);
	if (s->trust <= 0) {
		s->cpu_announced_by_requests =
			announced_by_requests(s, node, context);
		return;
	}
	node_vms_add_expected(&node->vms, context->prior, context->now_us,
		&starting, &variance);
	split_expected(s, node, starting);
}

void score_node(struct score *out, const struct node *node,
	const struct score_context *context)
{
	out->by_load = out->by_requests = (struct score_cpu){ 0 };
	out->memory_expected = NAN;
	out->cpu_room = out->cpu_deviation = NAN;
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
