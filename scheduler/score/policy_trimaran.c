#include "scheduler/score/policy_trimaran.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"
#include "scheduler/score/beta.h"
#include "scheduler/score/score.h"

/* Figures of one resource as upstream's load-watcher serves them: shares of the
 * capacity, 0 to 1. mean is NAN without both Average and Latest. */
struct metric {
	double mean, deviation;
};

static double first_known(double a, double b)
{
	return isnan(a) ? b : a;
}

static struct metric metric_of(double mean, double deviation, double capacity)
{
	struct metric m = { NAN, 0 };

	if (capacity > 0 && !isnan(mean)) {
		m.mean = mean / capacity;
		m.deviation = isnan(deviation) ? 0 : deviation / capacity;
	}
	return m;
}

static struct metric cpu_metric(const struct node_metrics *m)
{
	return metric_of(first_known(m->used_cores_15m, m->used_cores_latest),
		m->stdev_cores_15m, m->cores);
}

static struct metric memory_metric(const struct node_metrics *m)
{
	return metric_of(first_known(m->used_bytes_15m,
				 m->memory_total - m->memory_available),
		m->stdev_bytes_15m, m->memory_total);
}

static double clamp(double x, double low, double high)
{
	return fmin(fmax(x, low), high);
}

/* ---- TargetLoadPacking ---- */

static double predicted_milli(const struct pod *pod,
	const struct policy_args *args)
{
	double sum = (double)pod->nonzero.overhead_milli;

	for (size_t i = 0; i < pod->nonzero.container_count; i++) {
		const struct nonzero_container *c = &pod->nonzero.containers[i];

		if (c->limit_milli > 0) {
			sum += (double)c->limit_milli;
		} else if (c->request_milli > 0) {
			sum += round((double)c->request_milli *
				args->default_request_multiplier);
		} else {
			sum += args->default_request_milli;
		}
	}
	return sum;
}

/* The predicted use of pods that were bound too late for the metrics' window,
 * by upstream's rule. */
static double missing_milli(const struct node *node,
	const struct policy_args *args)
{
	const int64_t settled_us = INT64_C(60) * 1000000;
	double sum = 0;

	for (size_t i = 0; i < node->pod_count; i++) {
		const struct node_pod *other = &node->pods[i];

		if (node->metrics.sample_us - other->bound_us < settled_us) {
			sum += predicted_milli(other->pod, args);
		}
	}
	return sum;
}

static double target_load(double used, double target)
{
	if (used > 100) {
		return 0;
	}
	if (used > target) {
		return round(target * (100 - used) / (100 - target));
	}
	return round((100 - target) * used / target + target);
}

void policy_target_load_score(struct score *out, const struct pod *pod,
	const struct node *node, const struct policy *policy)
{
	const struct policy_args *args = &policy->args;
	struct metric cpu = cpu_metric(&node->metrics);
	double capacity_milli = node->metrics.cores * 1000;
	double points = 0;

	if (node->metrics.is_known && !isnan(cpu.mean)) {
		double more =
			predicted_milli(pod, args) + missing_milli(node, args);

		/* In this order, absurd figures do not become NAN. */
		points = target_load(100 * (cpu.mean + more / capacity_milli),
			args->target_utilization);
	}
	out->terms[TERM_TARGET_LOAD_PACKING] = points;
	out->total = points;
}

/* ---- LoadVariationRiskBalancing ---- */

/* NAN: the resource has no figures. requested is this pod's share. */
static double variation_points(struct metric m, double requested,
	const struct policy_args *args)
{
	double mean = clamp(m.mean + requested, 0, 1);
	double deviation = clamp(m.deviation, 0, 1);

	if (isnan(m.mean)) {
		return NAN;
	}
	/* Upstream takes no root if the sensitivity is below 0. */
	if (args->safe_variance_sensitivity >= 0) {
		deviation = pow(deviation, 1 / args->safe_variance_sensitivity);
	}
	deviation = clamp(deviation * args->safe_variance_margin, 0, 1);
	return (1 - (mean + deviation) / 2) * 100;
}

static double share_of(double amount, int64_t of)
{
	return of > 0 ? amount / (double)of : 1;
}

void policy_variation_score(struct score *out, const struct pod *pod,
	const struct node *node, const struct policy *policy)
{
	double points = 0;

	if (node->metrics.is_known) {
		double cpu = variation_points(cpu_metric(&node->metrics),
			share_of((double)pod->requests.cpu_milli,
				node->cpu_milli),
			&policy->args);
		double memory = variation_points(memory_metric(&node->metrics),
			share_of((double)pod->requests.memory_bytes,
				node->memory_bytes),
			&policy->args);

		/* fmin() ignores a NAN. */
		points = fmin(cpu, memory);
		points = isnan(points) ? 0 : round(points);
	}
	out->terms[TERM_LOAD_VARIATION_RISK] = points;
	out->total = points;
}

/* ---- LowRiskOverCommitment ---- */

/* The sums of one resource on a node, with and without the pod. */
struct committed {
	double request, limit, request_before, limit_before, capacity;
};

static struct committed commit(double request, double limit, double pod_request,
	double pod_limit, int64_t capacity)
{
	double allocatable = (double)capacity;
	struct committed c = {
		.capacity = allocatable,
		.request = fmin(request + pod_request, allocatable),
		.request_before = fmin(request, allocatable),
		.limit = limit + pod_limit,
		.limit_before = limit,
	};

	c.limit = fmax(c.limit, c.request);
	c.limit_before = fmax(c.limit_before, c.request_before);
	return c;
}

/* A beta distribution with this mean and deviation. */
struct fit {
	bool exists;
	double a, b;
};

/* The probability that the load is at most x. Edge cases as upstream. */
static double probability(struct fit *fit, double mean, double deviation,
	double x)
{
	double spread = mean * (1 - mean);
	double t;

	*fit = (struct fit){ 0 };
	if (mean <= 0) {
		return 1;
	}
	if (deviation <= 0) {
		return mean <= x ? 1 : 0;
	}
	t = spread / (deviation * deviation) - 1;
	if (!(t > 0) || mean >= 1) {
		return 0;
	}
	*fit = (struct fit){ true, mean * t, (1 - mean) * t };
	return beta_probability(x, fit->a, fit->b);
}

static double load_risk(struct metric m, const struct committed *c,
	double smoothing)
{
	/* Keeps the fit possible: MaxVarianceAllowance. */
	const double allowance = 0.99;
	double mean = clamp(m.mean, 0, 1);
	double deviation = fmin(clamp(m.deviation, 0, 1) * sqrt(smoothing),
		sqrt(mean * (1 - mean) * allowance));
	struct fit fit;
	double p = probability(&fit, mean, deviation,
		clamp(c->request_before / c->capacity, 0, 1));

	if (c->limit_before < c->capacity &&
		c->request_before <= c->limit_before) {
		double within = fit.exists
			? beta_probability(c->limit_before / c->capacity, fit.a,
				  fit.b)
			: 0;

		if (c->limit_before <= 0) {
			p = 1;
		} else if (within > 0) {
			p = clamp(p / within, 0, 1);
		}
	}
	return 1 - p;
}

static double commit_risk(struct metric m, const struct committed *c,
	double weight, double smoothing)
{
	double by_limit = 0;
	double by_load = 0;

	if (c->capacity <= 0) {
		return 1;
	}
	if (c->limit > c->capacity) {
		by_limit = (c->limit - c->capacity) / (c->limit - c->request);
	}
	if (!isnan(m.mean)) {
		by_load = load_risk(m, c, smoothing);
	}
	/* NAN if the requests equal the limit. */
	by_limit = isfinite(by_limit) ? by_limit : 1;
	return clamp(weight * by_limit + (1 - weight) * by_load, 0, 1);
}

static bool is_best_effort(const struct pod *pod)
{
	return pod->requests.cpu_milli == 0 &&
		pod->requests.memory_bytes == 0 &&
		pod->nonzero.limit_milli == 0 && pod->nonzero.limit_bytes == 0;
}

void policy_overcommit_score(struct score *out, const struct pod *pod,
	const struct node *node, const struct policy *policy)
{
	const struct policy_args *args = &policy->args;
	double points = 0;

	if (node->metrics.is_known && !is_best_effort(pod)) {
		struct committed cpu = commit((double)node->cpu_milli_requested,
			(double)node->limit_milli,
			(double)pod->requests.cpu_milli,
			(double)pod->nonzero.limit_milli, node->cpu_milli);
		struct committed memory = commit(
			(double)node->memory_bytes_requested,
			(double)node->limit_bytes,
			(double)pod->requests.memory_bytes,
			(double)pod->nonzero.limit_bytes, node->memory_bytes);
		double risk = fmax(commit_risk(cpu_metric(&node->metrics), &cpu,
					   args->risk_limit_cpu,
					   args->smoothing_window_size),
			commit_risk(memory_metric(&node->metrics), &memory,
				args->risk_limit_memory,
				args->smoothing_window_size));

		points = round((1 - risk) * 100);
	}
	out->terms[TERM_LOW_RISK_OVERCOMMIT] = points;
	out->total = points;
}
