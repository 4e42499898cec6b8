#include "scheduler/score/cpu_term.h"

#include <math.h>

#include "scheduler/forecast/shortage.h"
#include "scheduler/score/score_math.h"

double score_headroom(double headroom)
{
	double root =
		sqrt(headroom * headroom + SCORE_HEADROOM * SCORE_HEADROOM);

	return (1 + headroom / root) / 2;
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

/* An announcement raises the expected use, up to the VM's vCPUs. */
static double pod_cores_on(struct score *s, const struct node *node,
	const struct score_context *context)
{
	const struct pod *pod = context->pod;
	double announced;

	s->announced_by_pod = 0;
	if (pod->announced == NULL || pod->is_dedicated) {
		return context->pod_load.cores;
	}
	announced = announcement_cores(pod->announced,
		context->now_us + node->vms.wall_offset_us);
	announced = announced < pod->vcpus ? announced : pod->vcpus;
	if (announced > context->pod_load.cores) {
		s->announced_by_pod = announced - context->pod_load.cores;
	}
	return context->pod_load.cores + s->announced_by_pod;
}

/* The goodness of the shortage that the pod adds; both are set. `vms` are the
 * moments of the node's VMs without the pod, as if they were independent; `cpu`
 * has all else. */
static double shortage_goodness(struct score_cpu *cpu, const struct node *node,
	const struct score_context *context, const struct model_forecast *vms)
{
	const struct kin_excess *kin = &node->vms.kin.excess;
	double uncertainty = MODEL_UNCERTAINTY * cpu->cores;

	uncertainty *= uncertainty;
	cpu->shortage = shortage_expected(cpu->expected,
		cpu->variance + uncertainty, cpu->third, cpu->cores);
	cpu->added = cpu->shortage;
	if (cpu->shortage > SCORE_LEAST_SHORTAGE) {
		/* A pod with dedicated CPUs takes them from the shared ones. */
		double before = shortage_expected(cpu->expected - cpu->by_pod,
			vms->variance + kin->variance + uncertainty,
			vms->third + kin->third,
			cpu->cores + dedicated_cores_of(context->pod));

		cpu->added = score_larger(cpu->shortage - before, 0);
	}
	return score_falling(SCORE_SHORTAGE_S * cpu->added,
		SCORE_HALF_SHORTAGE);
}

/* cpu is set up to the expected use. */
static double cpu_goodness(struct score_cpu *cpu, const struct node *node,
	const struct score_context *context, const struct model_forecast *vms)
{
	const struct kin_excess kin =
		kin_sums_with(&node->vms.kin, &context->kin);
	double by_shortage = 1;

	cpu->variance =
		vms->variance + context->pod_load.variance + kin.variance;
	if (!context->skips_shortage) {
		cpu->third = vms->third + context->pod_load.third + kin.third;
		by_shortage = shortage_goodness(cpu, node, context, vms);
	}
	return (1 - SCORE_ROOM_PART) * by_shortage +
		SCORE_ROOM_PART * score_headroom(room_of(cpu));
}

static struct model_forecast moments_of(const struct node_vms *vms,
	struct model_prior prior)
{
	struct model_forecast out = model_expected(&vms->seen, prior);
	const struct model_forecast unseen =
		model_expected(&vms->unseen, prior);

	out.cores += unseen.cores;
	out.variance += unseen.variance;
	out.third += unseen.third;
	return out;
}

/* The largest, with this pod, of the pods' requests, the expected use of the
 * node's VMs, and the use of other nodes. VMs request only a tenth of their
 * vCPUs. */
static double goodness_by_requests(struct score *s, const struct node *node,
	const struct score_context *context, double pod_cores)
{
	const struct model_forecast vms =
		moments_of(&node->vms, context->prior);
	const struct pod *pod = context->pod;
	double dedicated = node->vms.dedicated_cores + dedicated_cores_of(pod);
	double cores = (double)node->cpu_milli / 1000 - dedicated;
	double requested = (double)node->cpu_milli_requested / 1000 +
		(double)pod->requests.cpu_milli / 1000 - dedicated;
	double expected = pod_cores + (double)node->expected_milli / 1000 +
		vms.cores + s->announced_by_others;

	s->cpu_by_requests = score_larger(
		context->cluster_cpu + score_share(pod_cores, cores),
		score_share(score_larger(requested, expected), cores));
	s->by_requests = (struct score_cpu){ .cores = cores,
		.by_pod = pod_cores,
		.expected = s->cpu_by_requests * cores };
	return cpu_goodness(&s->by_requests, node, context, &vms);
}

static double announced_by_others(const struct node *node,
	const struct score_context *context)
{
	const struct node_vms_announced more =
		node_vms_announced(&node->vms, context->prior, context->now_us);

	return more.seen + more.unseen;
}

double cpu_term_points(struct score *s, const struct node *node,
	const struct score_context *context)
{
	double cores =
		node_shared_cores(node) - dedicated_cores_of(context->pod);
	double pod_cores = pod_cores_on(s, node, context);
	double measured = 0;
	double by_requests = 0;

	s->announced_by_others = announced_by_others(node, context);
	if (s->trust > 0) {
		const struct model_forecast load = node_expected_load(node,
			context->prior, context->now_us);

		s->cpu_expected = score_share(pod_cores + load.cores, cores) -
			s->cpu_measured;
		s->by_load = (struct score_cpu){ .cores = cores,
			.by_pod = pod_cores,
			.expected = pod_cores + load.cores };
		measured = cpu_goodness(&s->by_load, node, context, &load);
	}
	if (s->trust < 1) {
		by_requests = goodness_by_requests(s, node, context, pod_cores);
	}
	return SCORE_CPU * score_blend(s->trust, measured, by_requests);
}

/* ---- for explanations ---- */

static double deviation_of(const struct score_cpu *cpu)
{
	double uncertainty = MODEL_UNCERTAINTY * cpu->cores;

	return score_share(sqrt(score_larger(cpu->variance, 0) +
				   uncertainty * uncertainty),
		cpu->cores);
}

/* The inverse of score_headroom(). */
static double headroom_of(double goodness)
{
	double root = 2 * sqrt(score_larger(goodness * (1 - goodness), 1e-12));

	return SCORE_HEADROOM * (2 * goodness - 1) / root;
}

/* The room that gives its points: with figures of half trust, there are two
 * rooms. */
static double counted_room(const struct score *s)
{
	if (s->trust <= 0 || s->trust >= 1) {
		return room_of(s->trust > 0 ? &s->by_load : &s->by_requests);
	}
	return headroom_of(
		score_blend(s->trust, score_headroom(room_of(&s->by_load)),
			score_headroom(room_of(&s->by_requests))));
}

static double counted_shortage(const struct score *s)
{
	double points = score_blend(s->trust,
		score_falling(SCORE_SHORTAGE_S * s->by_load.added,
			SCORE_HALF_SHORTAGE),
		score_falling(SCORE_SHORTAGE_S * s->by_requests.added,
			SCORE_HALF_SHORTAGE));

	return SCORE_HALF_SHORTAGE * score_larger(1 / points - 1, 0);
}

/* The share of cpu_by_requests that there is for announcements alone. */
static double announced_by_requests(const struct score *s,
	const struct node *node, const struct score_context *context)
{
	struct score without = *s;

	without.announced_by_others = 0;
	(void)goodness_by_requests(&without, node, context,
		context->pod_load.cores);
	return s->cpu_by_requests - without.cpu_by_requests;
}

/* A pod with dedicated CPUs uses none of the shared cores, and there are fewer
 * of them: this raises the share of all use before it. */
static void split_expected(struct score *s, const struct node *node,
	double starting)
{
	double cores = node_shared_cores(node);
	double load = s->by_load.expected - s->by_load.by_pod;

	s->cpu_by_pod = score_share(s->by_load.by_pod, s->by_load.cores) +
		score_larger(score_share(load, s->by_load.cores) -
				score_share(load, cores),
			0);
	s->cpu_by_starting = score_share(starting, cores);
	s->cpu_by_growth = score_larger(
		s->cpu_expected - s->cpu_by_pod - s->cpu_by_starting, 0);
	s->cpu_announced_by_pod =
		score_share(s->announced_by_pod, s->by_load.cores);
	s->cpu_announced_by_others = fmin(
		score_share(s->announced_by_others, cores), s->cpu_by_growth);
}

void cpu_term_explain(struct score *s, const struct node *node,
	const struct score_context *context)
{
	struct model_forecast starting = { 0 };

	s->cpu_room = counted_room(s);
	s->cpu_deviation = score_blend(s->trust, deviation_of(&s->by_load),
		deviation_of(&s->by_requests));
	s->cpu_shortage = SCORE_SHORTAGE_S *
		score_blend(s->trust, s->by_load.shortage,
			s->by_requests.shortage);
	s->cpu_shortage_added = counted_shortage(s);
	if (s->trust <= 0) {
		s->cpu_announced_by_requests =
			announced_by_requests(s, node, context);
		return;
	}
	node_vms_add_expected(&node->vms, context->prior, context->now_us,
		&starting);
	split_expected(s, node, starting.cores);
}
