#include "scheduler/score/decide.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "scheduler/filter/nominated_pods.h"
#include "scheduler/score/sentence.h"

static void reserve(struct decision *d, size_t count)
{
	if (count > d->capacity) {
		d->verdicts =
			xrealloc(d->verdicts, count, sizeof(*d->verdicts));
		d->capacity = count;
	}
}

static void count_reasons(struct decision *d, uint64_t reasons)
{
	while (reasons != 0) {
		d->counts[__builtin_ctzll(reasons)]++;
		reasons &= reasons - 1;
	}
}

/* Thousands of nodes do not fit into the second-level cache, and waiting for
 * the third took half of a decision's time. These functions prefetch the
 * figures of the following nodes. They are inlined because gcc 12 drops a call
 * of a function that only prefetches. */
enum { FETCH_NODE = 16, FETCH_LISTS = 8, FETCH_LINE = 64 };

#define FETCH static inline __attribute__((always_inline)) void

/* The bytes between two offsets, which need not be at a cache line. */
FETCH fetch(const void *base, size_t from, size_t to)
{
	const char *bytes = base;

	for (size_t at = from; at < to; at += FETCH_LINE) {
		__builtin_prefetch(bytes + at);
	}
	if (to > from) {
		__builtin_prefetch(bytes + to - 1);
	}
}

/* For decide_context(). */
FETCH fetch_figures(struct node *const *nodes, size_t count, size_t i)
{
	if (i + FETCH_NODE < count) {
		fetch(nodes[i + FETCH_NODE],
			offsetof(struct node, vms.seen.peer_weight),
			offsetof(struct node, metrics.contention));
	}
}

FETCH fetch_node(struct node *const *nodes, size_t count, size_t i)
{
	if (i + FETCH_NODE < count) {
		fetch(nodes[i + FETCH_NODE],
			offsetof(struct node, is_unschedulable),
			offsetof(struct node, metrics.used_cores_latest));
	}
}

FETCH fetch_lists(const struct decision *d, size_t i)
{
	if (i + FETCH_LISTS < d->node_count) {
		const struct node *node = d->nodes[i + FETCH_LISTS];

		fetch(node->scalars, 0,
			node->scalar_count * sizeof(*node->scalars));
	}
}

/* If at least this share of the nodes has data, they represent all nodes; if
 * fewer, their weight falls. Otherwise a single busy node with data, among
 * thousands without, would be the best node. */
#define CLUSTER_SHARE_MIN 0.1

void decide_context(struct score_context *out, const struct pod *pod,
	const struct cluster *cluster, const struct policy *policy,
	int64_t now_us)
{
	struct model_sum vms = { 0 };
	double trust_sum = 0;
	double cpu = 0;

	*out = (struct score_context){ .now_us = now_us, .policy = policy };
	for (size_t i = 0; i < cluster->count; i++) {
		const struct node *node = cluster->nodes[i];
		const struct node_metrics *m = &node->metrics;
		double trust = node_metrics_trust(m, now_us);
		double shared = node_shared_cores(node);

		fetch_figures(cluster->nodes, cluster->count, i);
		model_add_peers(&vms, &node->vms.seen);
		model_add_peers(&vms, &node->vms.unseen);
		if (trust > 0 && m->used_cores >= 0 && shared > 0) {
			trust_sum += trust;
			cpu += trust * node_used_cores(node) / shared;
		}
	}
	out->cluster_cpu = cpu /
		fmax(fmax(trust_sum, 1),
			CLUSTER_SHARE_MIN * (double)cluster->count);
	out->prior = model_prior(&vms);
	out->known_kin = &cluster->kin;
	out->failures = vm_failures_of(&cluster->failures, pod->namespace,
		pod->vm_name);
	score_begin(out, pod);
}

static uint64_t filter(struct decision *d, struct node *node,
	const struct filter_options *options, int64_t now_us)
{
	return d->cluster->nominated_count > 0
		? nominated_pods_filter(&d->prefilter, node, options, now_us)
		: filter_node(&d->prefilter, node, options, now_us);
}

/* Filters and scores each node while its figures are in the cache. */
static void evaluate_all(struct decision *d,
	const struct filter_options *options)
{
	for (size_t i = 0; i < d->node_count; i++) {
		const struct node *node = d->nodes[i];
		struct verdict *verdict = &d->verdicts[i];

		fetch_node(d->nodes, d->node_count, i);
		fetch_lists(d, i);
		*verdict = (struct verdict){
			.reasons = filter(d, d->nodes[i], options,
				d->context.now_us),
		};
		if (verdict->reasons != 0) {
			count_reasons(d, verdict->reasons);
			continue;
		}
		d->feasible_count++;
		if (d->preferences.has_preferences || node->taints.count > 0) {
			preferences_add_node(&d->preferences, node);
		}
		verdict->score = score_total(node, &d->context);
	}
}

static void score_spread(struct decision *d)
{
	struct spread *spread = &d->prefilter.spread;

	if (spread->soft_count == 0) {
		return;
	}
	for (size_t i = 0; i < d->node_count; i++) {
		if (d->verdicts[i].reasons == 0) {
			spread_soft_add_domain(spread, d->nodes[i]);
		}
	}
	spread_soft_count(spread, d->cluster);
	for (size_t i = 0; i < d->node_count; i++) {
		if (d->verdicts[i].reasons == 0) {
			preferences_add_spread(&d->preferences, d->nodes[i]);
		}
	}
}

static bool any_preference_applies(const struct preferences *preferences)
{
	bool applies = false;

	for (int i = 0; i < PREFERENCES; i++) {
		applies |= preferences_applies(preferences, (enum preference)i);
	}
	return applies;
}

/* Preferences are normalised over all feasible nodes, so they come last. */
static void rescore_all(struct decision *d)
{
	const struct score_context *context = &d->context;

	if (!any_preference_applies(context->preferences)) {
		return;
	}
	for (size_t i = 0; i < d->node_count; i++) {
		struct verdict *verdict = &d->verdicts[i];

		if (verdict->reasons == 0) {
			fetch_node(d->nodes, d->node_count, i);
			verdict->score = score_total(d->nodes[i], context);
		}
	}
}

static bool is_better(const struct decision *d, size_t a, size_t b)
{
	double x = d->verdicts[a].score;
	double y = d->verdicts[b].score;

	if (x > y) {
		return true;
	}
	return x >= y && strcmp(d->nodes[a]->name, d->nodes[b]->name) < 0;
}

/* Inserts a node into the sorted list of the best; the worst drops out. */
static void rank(struct decision *d, size_t *best, size_t one)
{
	size_t i = DECIDE_BEST - 1;

	if (d->best_count < DECIDE_BEST) {
		i = d->best_count++;
	} else if (!is_better(d, one, best[i])) {
		return;
	}
	for (; i > 0 && is_better(d, one, best[i - 1]); i--) {
		best[i] = best[i - 1];
	}
	best[i] = one;
}

/* For the sentence. */
static void count_siblings(struct decision *d)
{
	for (size_t i = 0; i < d->node_count && d->context.kin.rho > 0; i++) {
		const struct kin_group *kin = kin_sums_group(
			&d->nodes[i]->vms.kin, d->context.kin.kin);

		d->context.siblings += kin == NULL ? 0 : kin->count;
	}
}

static void make_exact(struct decision *d, size_t i)
{
	struct verdict *verdict = &d->verdicts[i];

	if (!verdict->is_exact) {
		verdict->score = score_total(d->nodes[i], &d->context);
		verdict->is_exact = true;
	}
}

void decision_score_all(struct decision *decision)
{
	for (size_t i = 0; i < decision->node_count; i++) {
		if (decision->verdicts[i].reasons == 0) {
			make_exact(decision, i);
		}
	}
}

/* The shortage is computed for nodes alone that could be among the best. Those
 * that would be the best without it come first: then few others could. */
static void find_best(struct decision *d, size_t *best)
{
	size_t first[DECIDE_BEST] = { 0 };
	size_t count;

	for (size_t i = 0; i < d->node_count; i++) {
		if (d->verdicts[i].reasons == 0) {
			rank(d, first, i);
		}
	}
	count = d->best_count;
	d->best_count = 0;
	for (size_t i = 0; i < count; i++) {
		make_exact(d, first[i]);
		rank(d, best, first[i]);
	}
	for (size_t i = 0; i < d->node_count && count == DECIDE_BEST; i++) {
		const struct verdict *verdict = &d->verdicts[i];

		if (verdict->reasons == 0 && !verdict->is_exact &&
			is_better(d, i, best[count - 1])) {
			make_exact(d, i);
			rank(d, best, i);
		}
	}
}

static void rank_all(struct decision *d)
{
	size_t best[DECIDE_BEST] = { 0 };

	find_best(d, best);
	for (size_t i = 0; i < d->best_count; i++) {
		d->best[i].node = d->nodes[best[i]];
		score_node(&d->best[i].score, d->best[i].node, &d->context);
	}
}

void decide(struct decision *decision, const struct pod *pod,
	const struct cluster *cluster, const struct filter_options *options,
	int64_t now_us)
{
	struct decision *d = decision;

	reserve(d, cluster->count);
	d->pod = pod;
	d->cluster = cluster;
	d->nodes = cluster->nodes;
	d->node_count = cluster->count;
	d->feasible_count = 0;
	d->best_count = 0;
	memset(d->counts, 0, sizeof(d->counts));
	prefilter_run(&d->prefilter, pod, cluster);
	preferences_begin(&d->preferences, pod, &d->prefilter.affinity,
		&d->prefilter.spread);
	decide_context(&d->context, pod, cluster, d->policy, now_us);
	d->context.skips_shortage = true;
	evaluate_all(d, options);
	score_spread(d);
	d->context.preferences = &d->preferences;
	rescore_all(d);
	d->context.skips_shortage = false;
	rank_all(d);
	count_siblings(d);
}

void decision_fini(struct decision *decision)
{
	if (decision != NULL) {
		free(decision->verdicts);
		prefilter_fini(&decision->prefilter);
		*decision = (struct decision){ 0 };
	}
}

const struct node *decision_chosen(const struct decision *decision)
{
	return decision->best_count > 0 ? decision->best[0].node : NULL;
}

void decision_plan(struct decision *decision, struct volume_plan *out)
{
	const struct node *chosen = decision_chosen(decision);

	if (chosen == NULL) {
		volume_plan_clear(out);
	} else {
		volumes_plan(&decision->prefilter.volumes, out, chosen);
	}
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "count reason" strings in text order, as kube-scheduler joins them. */
static void append_counts(struct buffer *out, const struct decision *d)
{
	char *texts[REASONS_MAX] = { NULL };
	size_t count = 0;

	for (unsigned int i = 0; i < REASONS_MAX; i++) {
		char reason[FILTER_REASON_TEXT_MAX];

		if (d->counts[i] > 0) {
			texts[count++] = xasprintf("%zu %s", d->counts[i],
				filter_reason_text(reason, sizeof(reason),
					&d->prefilter, i));
		}
	}
	qsort(texts, count, sizeof(texts[0]), compare_texts);
	for (size_t i = 0; i < count; i++) {
		buffer_printf(out, "%s%s", i > 0 ? ", " : "", texts[i]);
		free(texts[i]);
	}
}

void decision_message(struct buffer *out, const struct decision *decision)
{
	const struct decision *d = decision;

	if (d->node_count == 0) {
		buffer_text(out, "no nodes available to schedule pods");
		return;
	}
	buffer_printf(out, "%zu/%zu nodes are available: ", d->feasible_count,
		d->node_count);
	if (d->prefilter.refusal != NULL) {
		buffer_text(out, d->prefilter.refusal);
	} else {
		append_counts(out, d);
	}
	buffer_char(out, '.');
	if (d->pod->priority > 0) {
		buffer_text(out,
			" preemption: plimsoll-scheduler does not preempt.");
	}
}

void decision_sentence(struct buffer *out, const struct decision *decision)
{
	const struct candidate *best = decision->best;

	if (decision->best_count == 0) {
		return;
	}
	buffer_printf(out, "%s: ", best[0].node->name);
	if (decision->policy != NULL && decision->policy->score != NULL) {
		buffer_printf(out, "%.0f points by %s", best[0].score.total,
			decision->policy->name);
	} else {
		sentence_load(out, &best[0],
			decision->best_count > 1 ? &best[1] : NULL,
			&decision->context);
	}
	if (decision->best_count == 1) {
		buffer_text(out, "; the only feasible node");
	} else {
		sentence_margin(out, &best[0].score, &best[1]);
	}
}
