#include "scheduler/score/decision_record.h"

#include <math.h>
#include <stdio.h>

static void add_terms(struct decision_candidate *out, const struct score *s)
{
	for (int i = 0; i < SCORE_TERMS; i++) {
		struct decision_term *term = &out->terms[out->term_count];

		if (isnan(s->terms[i]) ||
			out->term_count == DECISION_TERMS_MAX) {
			continue;
		}
		(void)snprintf(term->name, sizeof(term->name), "%s",
			score_term_name((enum score_term)i));
		term->points = s->terms[i];
		out->term_count++;
	}
}

static void read_candidate(struct decision_candidate *out,
	const struct candidate *c, int64_t now_us)
{
	const struct node_metrics *m = &c->node->metrics;
	const struct score *s = &c->score;

	*out = (struct decision_candidate){
		.score = s->total,
		.load_age_us = !m->is_known ? REPORT_UNKNOWN
			: now_us > m->sample_us
			? (uint64_t)(now_us - m->sample_us)
			: 0,
		.trust = s->trust,
		.cpu_used = s->cpu_measured,
		.cpu_expected = fmax(s->cpu_measured + s->cpu_expected, 0),
		.cpu_by_requests = s->cpu_by_requests,
		.memory_by_requests = s->memory_by_requests,
		.contention = s->contention,
	};
	if (isnan(s->cpu_measured)) {
		out->cpu_expected = NAN;
	}
	(void)snprintf(out->node, sizeof(out->node), "%s", c->node->name);
	add_terms(out, s);
}

static void add_rejections(struct decision_record *out,
	const struct decision *d)
{
	for (unsigned int i = 0; i < REASONS_MAX; i++) {
		struct decision_rejection *rejection =
			&out->rejections[out->rejection_count];

		if (d->counts[i] == 0) {
			continue;
		}
		(void)filter_reason_text(rejection->reason,
			sizeof(rejection->reason), &d->prefilter, i);
		rejection->nodes = (uint32_t)d->counts[i];
		out->rejection_count++;
	}
}

void decision_record_from(struct decision_record *out,
	const struct decision *decision, const char *sentence, uint64_t wall_us)
{
	const struct decision *d = decision;

	*out = (struct decision_record){
		.wall_us = wall_us,
		.nodes = (uint32_t)d->node_count,
		.feasible = (uint32_t)d->feasible_count,
		.margin = d->best_count < 2
			? NAN
			: d->best[0].score.total - d->best[1].score.total,
		.best_count = d->best_count,
		.past_seconds = NAN,
		.past_cores = NAN,
	};
	if (d->pod->usage.seconds > 0) {
		out->past_seconds = d->pod->usage.seconds;
		out->past_cores = d->pod->usage.mean_cores;
	}
	(void)snprintf(out->namespace, sizeof(out->namespace), "%s",
		d->pod->namespace);
	(void)snprintf(out->pod, sizeof(out->pod), "%s", d->pod->name);
	(void)snprintf(out->uid, sizeof(out->uid), "%s", d->pod->uid);
	(void)snprintf(out->policy, sizeof(out->policy), "%s",
		d->policy == NULL ? "real-load" : d->policy->name);
	(void)snprintf(out->sentence, sizeof(out->sentence), "%s", sentence);
	for (size_t i = 0; i < d->best_count; i++) {
		read_candidate(&out->best[i], &d->best[i], d->context.now_us);
	}
	if (d->best_count > 0) {
		(void)snprintf(out->chosen, sizeof(out->chosen), "%s",
			d->best[0].node->name);
	}
	add_rejections(out, d);
}
