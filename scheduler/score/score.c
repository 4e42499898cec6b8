#include "scheduler/score/score.h"

#include "scheduler/objects/rejection.h"

#include <math.h>
#include <stdbool.h>

/* Of a thing the node has none of: fuller than full, yet comparable. */
static const double without_end = 1000;

static double share(double used, double of)
{
	if (of > 0) {
		return used / of;
	}
	return used > 0 ? without_end : 0;
}

double score_room(double room)
{
	return (1 + room / sqrt(room * room + SCORE_ROOM * SCORE_ROOM)) / 2;
}

double score_memory(double share)
{
	double x = share / SCORE_MEMORY_FULL;

	x *= x;
	x *= x;
	return 1 / (1 + x * x);
}

/* From 1 at 0 to a half at `half`, never 0; 1 where nothing is known, which
 * the data term pays for. */
static double calmness(double value, double half)
{
	return value > 0 ? half / (half + value) : 1;
}

/* Leaves measured out where it cannot be trusted at all: it may be NAN. The
 * same to the last bit without the first case, which spares a division. */
static double blend(double trust, double measured, double otherwise)
{
	if (trust >= 1) {
		return measured;
	}
	return trust > 0 ? trust * measured + (1 - trust) * otherwise
			 : otherwise;
}

/* Unlike fmax() inlined; b where a is NAN. */
static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Cores that the pod would have to itself, and so take from the others. */
static double takes_cores(const struct pod *pod)
{
	return pod->is_dedicated ? pod->vcpus : 0;
}

/* A VM like any other, or like its own past. */
void score_begin(struct score_context *context, const struct pod *pod)
{
	const struct model_vm vm = { .vcpus = pod->vcpus, .past = pod->past };
	struct model_sum sum = { 0 };

	context->pod = pod;
	context->own_cores = pod->expected_cores;
	context->own_variance = 0;
	if (pod->is_dedicated) {
		context->own_cores = 0;
	} else if (pod->is_vm) {
		model_add(&sum, &vm);
		context->own_cores = model_cores(&sum, context->prior);
		context->own_variance = model_variance(&sum, context->prior);
	}
}

/* By what pods request, what is known of the node's VMs, and what other nodes
 * use: whichever is most, with this pod. Requests of VMs are a tenth of their
 * vCPUs. */
static double room_by_requests(struct score *s, const struct node *node,
	const struct score_context *context)
{
	const struct pod *pod = context->pod;
	double dedicated = node->vms.dedicated_cores + takes_cores(pod);
	double cores = (double)node->cpu_milli / 1000 - dedicated;
	double requested = (double)node->cpu_milli_requested / 1000 +
		(double)pod->requests.cpu_milli / 1000 - dedicated;
	double own = context->own_cores;
	double variance = context->own_variance;
	double expected;

	variance += model_variance(&node->vms.seen, context->prior) +
		model_variance(&node->vms.unseen, context->prior);
	expected = own + (double)node->expected_milli / 1000 +
		model_cores(&node->vms.seen, context->prior) +
		model_cores(&node->vms.unseen, context->prior);
	s->cpu_by_requests = larger(context->fleet_cpu + share(own, cores),
		share(larger(requested, expected), cores));
	return model_room(s->cpu_by_requests * cores, variance, cores);
}

static double cpu_points(struct score *s, const struct node *node,
	const struct score_context *context)
{
	double cores = node_shared_cores(node) - takes_cores(context->pod);
	double own = context->own_cores;
	double measured = 0;
	double guessed = 0;
	double load, variance;

	if (s->trust > 0) {
		node_expect(node, context->prior, context->now_us, &load,
			&variance);
		s->cpu_expected = share(own + load, cores) - s->cpu_measured;
		measured = score_room(model_room(own + load,
			context->own_variance + variance, cores));
	}
	if (s->trust < 1) {
		guessed = score_room(room_by_requests(s, node, context));
	}
	return SCORE_CPU * blend(s->trust, measured, guessed);
}

static double memory_points(struct score *s, const struct node *node,
	const struct score_context *context)
{
	const struct measure *m = &node->measure;
	double requested = (double)context->pod->requests.memory_bytes;
	double used = share(m->memory_total - m->memory_available +
			node_vms_memory(&node->vms, context->now_us) +
			requested,
		m->memory_total);
	bool is_known = !isnan(m->memory_total) && !isnan(m->memory_available);

	s->memory_by_requests =
		share((double)node->memory_bytes_requested + requested,
			(double)node->memory_bytes);
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

static void add_load(struct score *s, const struct node *node,
	const struct score_context *context)
{
	const struct measure *m = &node->measure;
	const struct pod *pod = context->pod;
	bool works = !pod->wants_kvm || m->kvm_state == KVM_OK;

	add(s, TERM_CPU, cpu_points(s, node, context));
	add(s, TERM_MEMORY, memory_points(s, node, context));
	add(s, TERM_CONTENTION,
		SCORE_CONTENTION *
			blend(s->trust,
				calmness(m->contention, SCORE_HALF_CONTENTION),
				1));
	add(s, TERM_MEMORY_PRESSURE,
		SCORE_MEMORY_PRESSURE *
			blend(s->trust,
				calmness(m->memory_pressure,
					SCORE_HALF_MEMORY_PRESSURE),
				1));
	add(s, TERM_IO_PRESSURE,
		SCORE_IO_PRESSURE *
			blend(s->trust,
				calmness(m->io_pressure,
					SCORE_HALF_IO_PRESSURE),
				1));
	add(s, TERM_KVM, SCORE_KVM * blend(s->trust, works, !pod->wants_kvm));
	add(s, TERM_DATA, SCORE_DATA * s->trust);
}

/* Mixes in what the pod would rather have. */
static void mix_wishes(struct score *s, const struct node *node,
	const struct preferred *preferred)
{
	double all = SCORE_WEIGHT_LOAD;

	if (preferred == NULL) {
		return;
	}
	for (int i = 0; i < WISHES; i++) {
		if (preferred_plays(preferred, (enum wish)i)) {
			all += preferred_weight((enum wish)i);
		}
	}
	if (all <= SCORE_WEIGHT_LOAD) {
		return;
	}
	/* The terms of other policies stay upstream's figures. */
	for (int i = TERM_CPU; i <= TERM_REJECTED; i++) {
		s->terms[i] *= SCORE_WEIGHT_LOAD / all;
	}
	s->total *= SCORE_WEIGHT_LOAD / all;
	for (int i = 0; i < WISHES; i++) {
		enum wish wish = (enum wish)i;

		if (preferred_plays(preferred, wish)) {
			s->terms[TERM_WISHES + i] = preferred_weight(wish) /
				all * preferred_points(preferred, wish, node);
			s->total += s->terms[TERM_WISHES + i];
		}
	}
}

/* Of a node whose kubelet rejected a pod, until that fades. */
static void ease_off(struct score *s, const struct node *node, int64_t now_us)
{
	int64_t left = node->rejected_us + REJECTION_FADES_US - now_us;

	if (node->rejected_us != 0 && left > 0) {
		s->terms[TERM_REJECTED] = -s->total * REJECTION_COST *
			(double)left / (double)REJECTION_FADES_US;
		s->total += s->terms[TERM_REJECTED];
	}
}

static void score_real_load(struct score *s, const struct node *node,
	const struct score_context *context)
{
	s->total = 0;
	add_load(s, node, context);
	ease_off(s, node, context->now_us);
}

static void take_measure(struct score *s, const struct node *node,
	int64_t now_us)
{
	s->trust = measure_trust(&node->measure, now_us);
	s->cpu_measured = NAN;
	s->cpu_expected = NAN;
	s->cpu_by_requests = NAN;
	s->memory_by_requests = NAN;
	s->contention = NAN;
	if (s->trust > 0) {
		s->cpu_measured =
			share(node_used_cores(node), node_shared_cores(node));
		s->contention = node->measure.contention;
	}
	/* A report without CPU figures is as good as none. */
	if (isnan(s->cpu_measured)) {
		s->trust = 0;
	}
}

static bool is_real_load(const struct policy *policy)
{
	return policy == NULL || policy->score == NULL;
}

void score_node(struct score *out, const struct node *node,
	const struct score_context *context)
{
	const struct policy *policy = context->policy;
	struct score *s = out;

	take_measure(s, node, context->now_us);
	for (int i = 0; i < SCORE_TERMS; i++) {
		s->terms[i] = NAN;
	}
	if (is_real_load(policy)) {
		score_real_load(s, node, context);
	} else {
		policy->score(s, context->pod, node, policy);
	}
	mix_wishes(s, node, context->preferred);
}

double score_total(const struct node *node, const struct score_context *context)
{
	struct score score;

	/* Nobody will ask what the terms that do not apply were. */
	if (is_real_load(context->policy) && context->preferred == NULL) {
		take_measure(&score, node, context->now_us);
		score_real_load(&score, node, context);
	} else {
		score_node(&score, node, context);
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
		[TERM_LEAST_ALLOCATED] = "LeastAllocated",
		[TERM_BALANCED_ALLOCATION] = "BalancedAllocation",
		[TERM_TARGET_LOAD_PACKING] = "TargetLoadPacking",
		[TERM_LOAD_VARIATION_RISK] = "LoadVariationRiskBalancing",
		[TERM_LOW_RISK_OVERCOMMIT] = "LowRiskOverCommitment",
		[TERM_WISHES + WISH_AFFINITY] = "affinity",
		[TERM_WISHES + WISH_TAINT] = "taint",
		[TERM_WISHES + WISH_POD_AFFINITY] = "pod_affinity",
		[TERM_WISHES + WISH_SPREAD] = "spread",
	};

	return names[term];
}
