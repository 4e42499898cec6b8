#include "scheduler/score.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Of a thing the node has none of: fuller than full, yet comparable. */
static const double without_end = 1000;

static double share(double used, double of)
{
	if (of > 0) {
		return used / of;
	}
	return used > 0 ? without_end : 0;
}

double score_headroom(double share)
{
	return 1 / (1 + share / 2 + share * share);
}

/* From 1 at 0 to a half at `half`, never 0; 1 where nothing is known, which
 * the data term pays for. */
static double calmness(double value, double half)
{
	return value > 0 ? half / (half + value) : 1;
}

/* Leaves measured out where it cannot be trusted at all: it may be NAN. */
static double blend(double trust, double measured, double otherwise)
{
	return trust > 0 ? trust * measured + (1 - trust) * otherwise
			 : otherwise;
}

/* The same for two shares; nearly always only one has to be computed. */
static double blend_headroom(double trust, double measured, double otherwise)
{
	if (trust >= 1) {
		return score_headroom(measured);
	}
	return blend(trust, score_headroom(measured),
		score_headroom(otherwise));
}

static double node_cores(const struct node *node)
{
	return node->measure.cores > 0 ? node->measure.cores
				       : (double)node->cpu_milli / 1000;
}

/* Unlike fmax() inlined; b where a is NAN. */
static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double cpu_by_requests(const struct pod *pod, const struct node *node,
	const struct score_context *context)
{
	double allocatable = (double)node->cpu_milli / 1000;
	double requested = (double)node->cpu_milli_requested / 1000 +
		(double)pod->requests.cpu_milli / 1000;
	double expected =
		(double)node->expected_milli / 1000 + pod->expected_cores;

	return larger(
		context->fleet_cpu + share(pod->expected_cores, allocatable),
		share(larger(requested, expected), allocatable));
}

static double cpu_points(struct score *s, const struct pod *pod,
	const struct node *node, const struct score_context *context)
{
	s->cpu_expected = share(
		pod->expected_cores + node_pending_cores(node, context->now_us),
		node_cores(node));
	s->cpu_by_requests =
		s->trust < 1 ? cpu_by_requests(pod, node, context) : NAN;
	return SCORE_CPU *
		blend_headroom(s->trust, s->cpu_measured + s->cpu_expected,
			s->cpu_by_requests);
}

static double memory_points(struct score *s, const struct pod *pod,
	const struct node *node, int64_t now_us)
{
	const struct measure *m = &node->measure;
	double requested = (double)pod->requests.memory_bytes;
	double used = share(m->memory_total - m->memory_available +
			node_pending_memory(node, now_us) + requested,
		m->memory_total);
	bool is_known = !isnan(m->memory_total) && !isnan(m->memory_available);

	s->memory_by_requests =
		share((double)node->memory_bytes_requested + requested,
			(double)node->memory_bytes);
	return SCORE_MEMORY *
		blend_headroom(is_known ? s->trust : 0,
			larger(used, s->memory_by_requests),
			s->memory_by_requests);
}

static void load_terms(struct score *s, const struct pod *pod,
	const struct node *node, const struct score_context *context)
{
	const struct measure *m = &node->measure;
	bool works = !pod->wants_kvm || m->kvm_state == KVM_OK;

	s->terms[TERM_CPU] = cpu_points(s, pod, node, context);
	s->terms[TERM_MEMORY] = memory_points(s, pod, node, context->now_us);
	s->terms[TERM_CONTENTION] = SCORE_CONTENTION *
		blend(s->trust, calmness(m->contention, SCORE_HALF_CONTENTION),
			1);
	s->terms[TERM_MEMORY_PRESSURE] = SCORE_MEMORY_PRESSURE *
		blend(s->trust,
			calmness(m->memory_pressure,
				SCORE_HALF_MEMORY_PRESSURE),
			1);
	s->terms[TERM_IO_PRESSURE] = SCORE_IO_PRESSURE *
		blend(s->trust,
			calmness(m->io_pressure, SCORE_HALF_IO_PRESSURE), 1);
	s->terms[TERM_KVM] =
		SCORE_KVM * blend(s->trust, works, !pod->wants_kvm);
	s->terms[TERM_DATA] = SCORE_DATA * s->trust;
}

/* Mixes in what the pod would rather have. */
static void mix_wishes(struct score *s, const struct node *node,
	const struct preferred *preferred)
{
	double all = SCORE_WEIGHT_LOAD;

	for (int i = 0; i < WISHES; i++) {
		s->terms[TERM_WISHES + i] = NAN;
	}
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
	for (int i = 0; i < TERM_WISHES; i++) {
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

void score_node(struct score *out, const struct pod *pod,
	const struct node *node, const struct score_context *context)
{
	struct score *s = out;

	s->trust = measure_trust(&node->measure, context->now_us);
	s->cpu_measured = NAN;
	s->contention = NAN;
	if (s->trust > 0) {
		s->cpu_measured =
			share(node->measure.used_cores, node_cores(node));
		s->contention = node->measure.contention;
	}
	/* A report without CPU figures is as good as none. */
	if (isnan(s->cpu_measured)) {
		s->trust = 0;
	}
	load_terms(s, pod, node, context);
	s->total = 0;
	for (int i = TERM_CPU; i <= TERM_DATA; i++) {
		s->total += s->terms[i];
	}
	mix_wishes(s, node, context->preferred);
}

double score_total(const struct pod *pod, const struct node *node,
	const struct score_context *context)
{
	struct score score;

	score_node(&score, pod, node, context);
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
		[TERM_WISHES + WISH_AFFINITY] = "affinity",
		[TERM_WISHES + WISH_TAINT] = "taint",
		[TERM_WISHES + WISH_POD_AFFINITY] = "pod_affinity",
		[TERM_WISHES + WISH_SPREAD] = "spread",
	};

	return names[term];
}

int score_policy_check(const char *name, struct error *err)
{
	if (strcmp(name, "real-load") == 0) {
		return 0;
	}
	return error_set(err, -EINVAL,
		"there is no policy '%.40s'; there is: real-load", name);
}
