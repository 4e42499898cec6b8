#include "scheduler/score/decision_record.h"

#include "scheduler/score/sentence.h"

#include <math.h>
#include <string.h>

/* Cuts a text that is too long. NULL is "". */
static void put(char *out, size_t size, const char *text)
{
	size_t len = text != NULL ? strnlen(text, size - 1) : 0;

	if (len > 0) {
		(void)memcpy(out, text, len);
	}
	out[len] = '\0';
}

static void add_terms(struct decision_candidate *out, const struct score *s)
{
	for (int i = 0; i < SCORE_TERMS; i++) {
		struct decision_term *term = &out->terms[out->term_count];

		if (isnan(s->terms[i]) ||
			out->term_count == DECISION_TERMS_MAX) {
			continue;
		}
		put(term->name, sizeof(term->name),
			score_term_name((enum score_term)i));
		term->points = s->terms[i];
		out->term_count++;
	}
}

/* The part of the shares with which the sentence begins. */
static double announced(const struct score *s)
{
	return s->trust > 0
		? s->cpu_announced_by_pod + s->cpu_announced_by_others
		: s->cpu_announced_by_requests;
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
		.cpu_by_pod = s->cpu_by_pod,
		.cpu_by_starting = s->cpu_by_starting,
		.cpu_by_growth = s->cpu_by_growth,
		.cpu_announced = announced(s),
		.cpu_deviation = s->cpu_deviation,
		.cpu_room = s->cpu_room,
		.cpu_shortage = s->cpu_shortage,
		.cpu_shortage_added = s->cpu_shortage_added,
		.siblings = s->siblings,
		.memory_expected = s->memory_expected,
		.memory_pressure = m->memory_pressure,
		.io_pressure = m->io_pressure,
	};
	if (isnan(s->cpu_measured)) {
		out->cpu_expected = NAN;
		out->memory_pressure = out->io_pressure = NAN;
	}
	put(out->node, sizeof(out->node), c->node->name);
	add_terms(out, s);
}

/* Some of the rejected nodes, as indices, for each reason. */
struct rejected {
	uint32_t nodes[REASONS_MAX][DECISION_NAMES_MAX];
	size_t counts[REASONS_MAX];
};

/* Adds a node for each of its reasons. Returns the reasons that have enough
 * nodes now. */
static uint64_t add_rejected(struct rejected *out, size_t node,
	uint64_t reasons)
{
	uint64_t complete = 0;

	for (; reasons != 0; reasons &= reasons - 1) {
		int reason = __builtin_ctzll(reasons);

		out->nodes[reason][out->counts[reason]++] = (uint32_t)node;
		if (out->counts[reason] == DECISION_NAMES_MAX) {
			complete |= UINT64_C(1) << reason;
		}
	}
	return complete;
}

static void find_rejected(struct rejected *out, const struct decision *d)
{
	uint64_t wanted = UINT64_MAX; /* reasons that need more names */

	for (size_t i = 0; i < d->node_count && wanted != 0; i++) {
		wanted &=
			~add_rejected(out, i, d->verdicts[i].reasons & wanted);
	}
}

static void add_names(struct decision_record *out, const struct decision *d,
	const struct rejected *rejected, unsigned int reason)
{
	for (size_t i = 0; i < rejected->counts[reason]; i++) {
		uint32_t node = rejected->nodes[reason][i];

		if (!decision_add_name(out, d->nodes[node]->name)) {
			return;
		}
	}
}

static void add_rejections(struct decision_record *out,
	const struct decision *d)
{
	struct rejected rejected = { 0 };

	if (d->feasible_count < d->node_count) {
		find_rejected(&rejected, d);
	}
	for (unsigned int i = 0; i < REASONS_MAX; i++) {
		struct decision_rejection *rejection =
			&out->rejections[out->rejection_count];

		if (d->counts[i] == 0) {
			continue;
		}
		*rejection = (struct decision_rejection){ 0 };
		(void)filter_reason_text(rejection->reason,
			sizeof(rejection->reason), &d->prefilter, i);
		rejection->nodes = (uint32_t)d->counts[i];
		out->rejection_count++;
		add_names(out, d, &rejected, i);
	}
}

/* With any policy. */
static void read_margin(struct decision_record *out, const struct decision *d)
{
	const struct candidate *best = d->best;
	enum score_term term;

	if (d->best_count < 2) {
		return;
	}
	out->margin = best[0].score.total - best[1].score.total;
	term = sentence_decisive_term(&best[0].score, &best[1].score,
		&out->decided_points);
	if (term == SCORE_TERMS || !(out->margin > 0)) {
		out->decided_points = NAN;
		return;
	}
	put(out->decided_by, sizeof(out->decided_by), score_term_name(term));
}

/* A user may write anything into the annotation, and a record that aggregators
 * refuse would be lost. */
static const char *vm_name_of(const struct pod *pod)
{
	const char *name = pod->is_vm ? pod->vm_name : "";

	for (const char *at = name; *at != '\0'; at++) {
		if (*at <= ' ' || *at > '~') {
			return "";
		}
	}
	return name;
}

/* Without its lists, which have no elements yet: they are most of a record, and
 * few decisions need much of them. */
static void begin_record(struct decision_record *out)
{
	(void)memset(out, 0, offsetof(struct decision_record, best));
	out->margin = NAN;
	out->decided_points = NAN;
	out->past_seconds = NAN;
	out->past_cores = NAN;
	out->siblings = out->siblings_correlation = NAN;
	out->best_count = 0;
	out->rejection_count = 0;
	out->names_len = 0;
}

void decision_record_from(struct decision_record *out,
	const struct decision *decision, const char *sentence, uint64_t wall_us,
	double cache_age_s)
{
	const struct decision *d = decision;

	begin_record(out);
	out->wall_us = wall_us;
	out->cache_age_seconds = cache_age_s;
	out->nodes = (uint32_t)d->node_count;
	out->feasible = (uint32_t)d->feasible_count;
	out->best_count = d->best_count;
	read_margin(out, d);
	if (d->pod->usage.seconds > 0) {
		out->past_seconds = d->pod->usage.seconds;
		out->past_cores = d->pod->usage.mean_cores;
	}
	if (d->context.kin.kin != 0) {
		out->siblings = (double)d->context.siblings;
		out->siblings_correlation = d->context.kin.rho;
	}
	put(out->namespace, sizeof(out->namespace), d->pod->namespace);
	put(out->pod, sizeof(out->pod), d->pod->name);
	put(out->uid, sizeof(out->uid), d->pod->uid);
	put(out->vm, sizeof(out->vm), vm_name_of(d->pod));
	put(out->policy, sizeof(out->policy),
		d->policy == NULL ? "real-load" : d->policy->name);
	put(out->sentence, sizeof(out->sentence), sentence);
	for (size_t i = 0; i < d->best_count; i++) {
		read_candidate(&out->best[i], &d->best[i], d->context.now_us);
	}
	if (d->best_count > 0) {
		put(out->chosen, sizeof(out->chosen), d->best[0].node->name);
	}
	add_rejections(out, d);
}
