#include "scheduler/score/sentence.h"

#include "proto/kvm_state.h"

#include <math.h>

/* Smaller shares and differences of points are not worth a word. */
static const double least_share = 0.005;
static const double least_points = 0.5;
static const double least_minutes = 0.05;

static double percent(double share)
{
	return round(share * 100);
}

/* The points by which a term favours `one`. A term that does not apply is
 * worth nothing. */
static double difference(const struct score *one, const struct score *other,
	int term)
{
	double a = one->terms[term];
	double b = other->terms[term];

	return (isnan(a) ? 0 : a) - (isnan(b) ? 0 : b);
}

enum score_term sentence_decisive_term(const struct score *one,
	const struct score *other, double *points)
{
	enum score_term term = SCORE_TERMS;
	double most = 0;

	for (int i = 0; i < SCORE_TERMS; i++) {
		if (difference(one, other, i) > most) {
			most = difference(one, other, i);
			term = (enum score_term)i;
		}
	}
	if (points != NULL) {
		*points = most;
	}
	return term;
}

/* ---- the load ---- */

static void append_announced(struct buffer *out, double share)
{
	if (share >= least_share) {
		buffer_printf(out, " (%.0f %% announced)", percent(share));
	}
}

/* announced: of the share. */
static void append_share(struct buffer *out, double share, const char *by,
	double announced)
{
	if (share >= least_share) {
		buffer_printf(out, " + %.0f %% %s", percent(share), by);
		append_announced(out, announced);
	}
}

static void append_requests(struct buffer *out, const struct score *s)
{
	buffer_printf(out, "no load data, by requests %.0f %% CPU",
		percent(s->cpu_by_requests));
	append_announced(out, s->cpu_announced_by_requests);
	buffer_printf(out, ", %.0f %% memory", percent(s->memory_by_requests));
}

static const char *pod_words(const struct pod *pod)
{
	if (pod->is_dedicated) {
		return pod->is_vm ? "by the CPUs that this VM takes"
				  : "by the CPUs that this pod takes";
	}
	return pod->is_vm ? "by this VM" : "by this pod";
}

static void append_cpu(struct buffer *out, const struct candidate *one,
	const struct score_context *context)
{
	const struct score *s = &one->score;

	if (s->trust <= 0) {
		append_requests(out, s);
		return;
	}
	if (s->trust < 1) {
		buffer_printf(out, "load data %.0f s old, ",
			(double)(context->now_us -
				one->node->metrics.sample_us) /
				1e6);
	}
	buffer_printf(out, "%.0f %% CPU used + %.0f %% %s",
		percent(s->cpu_measured), percent(s->cpu_by_pod),
		pod_words(context->pod));
	append_announced(out, s->cpu_announced_by_pod);
	append_share(out, s->cpu_by_starting, "by VMs that start", 0);
	append_share(out, s->cpu_by_growth, "by VMs that will use more",
		s->cpu_announced_by_others);
}

/* ---- the inputs of a term ---- */

/* "; NAME 5 % against 40 % on node-3". An unknown share of the other node is
 * left out with the comparison. */
static void append_shares(struct buffer *out, const char *name, double one,
	double other, const struct node *node)
{
	if (isnan(one)) {
		return;
	}
	buffer_printf(out, "; %s %.0f %%", name, percent(one));
	if (!isnan(other) && node != NULL) {
		buffer_printf(out, " against %.0f %% on %s", percent(other),
			node->name);
	}
}

/* A figure that counts by trust, on both nodes. */
struct counted {
	const char *name;
	double half, one, other;
};

/* Shows the values that give the points. */
static void append_counted(struct buffer *out, const struct counted *figure,
	const struct score *one, const struct candidate *other)
{
	append_shares(out, figure->name,
		score_counted(figure->one, figure->half, one->trust),
		score_counted(figure->other, figure->half, other->score.trust),
		other->node);
}

/* The points count, because both kubelets may have rejected pods. */
static void append_rejected(struct buffer *out, const struct score *one,
	const struct candidate *other)
{
	if (one->terms[TERM_REJECTED] < 0) {
		buffer_printf(out,
			"; both kubelets rejected pods, for %.0f points "
			"against %.0f on %s",
			round(one->terms[TERM_REJECTED]),
			round(other->score.terms[TERM_REJECTED]),
			other->node->name);
	} else {
		buffer_printf(out, "; the kubelet of %s rejected a pod",
			other->node->name);
	}
}

static void append_room(struct buffer *out, const struct score *one,
	const struct candidate *other)
{
	buffer_printf(out,
		"; CPU free for %.1f times its usual swing (%.0f %%) against "
		"%.1f times (%.0f %%) on %s",
		one->cpu_room, percent(one->cpu_deviation),
		other->score.cpu_room, percent(other->score.cpu_deviation),
		other->node->name);
}

/* "5 core-minutes", "none". */
static void append_shortage(struct buffer *out, double core_seconds,
	const char *unit)
{
	double minutes = core_seconds / 60;

	if (minutes < least_minutes) {
		buffer_text(out, "none");
	} else {
		buffer_printf(out, minutes < 10 ? "%.1f%s" : "%.0f%s", minutes,
			unit);
	}
}

/* "9 of its 38 siblings are on node-3 and peak together; node-1 has none". */
static void append_siblings(struct buffer *out, const struct candidate *one,
	const struct candidate *other, const struct score_context *context)
{
	double here = one->score.siblings;
	double there = other->score.siblings;

	if (!(context->kin.rho >= SCORE_PEAK_TOGETHER) || !(there > here)) {
		return;
	}
	buffer_printf(out,
		"; %.0f of its %zu siblings %s on %s and peak together; %s "
		"has ",
		there, context->siblings, there < 2 ? "is" : "are",
		other->node->name, one->node->name);
	if (here < 1) {
		buffer_text(out, "none");
	} else {
		buffer_printf(out, "%.0f", here);
	}
}

/* The room decides where the VM adds no shortage to speak of. */
static void append_cpu_inputs(struct buffer *out, const struct candidate *one,
	const struct candidate *other, const struct score_context *context)
{
	double added = other->score.cpu_shortage_added;

	if (!(added / 60 >= least_minutes &&
		    added > one->score.cpu_shortage_added)) {
		append_room(out, &one->score, other);
		return;
	}
	append_siblings(out, one, other, context);
	buffer_text(out, "; this VM adds ");
	append_shortage(out, added, " core-minutes");
	buffer_printf(out, " of shortage expected in the next hour on %s, ",
		other->node->name);
	append_shortage(out, one->score.cpu_shortage_added, "");
	buffer_printf(out, " on %s", one->node->name);
}

static const char *kvm_words(const struct candidate *c)
{
	if (c->score.trust <= 0) {
		return "not known";
	}
	return c->node->metrics.kvm_state == KVM_OK ? "works"
		: c->node->metrics.kvm_state == KVM_UNVERIFIED
		? "not verified"
		: "does not work";
}

static void append_inputs(struct buffer *out, enum score_term term,
	const struct candidate *one, const struct candidate *other,
	const struct score_context *context)
{
	const struct score *a = &one->score, *b = &other->score;
	const struct node_metrics *m = &one->node->metrics;
	const struct node_metrics *n = &other->node->metrics;

	switch (term) {
	case TERM_CPU:
		append_cpu_inputs(out, one, other, context);
		break;
	case TERM_MEMORY:
		append_shares(out, "memory", a->memory_expected,
			b->memory_expected, other->node);
		break;
	case TERM_MEMORY_PRESSURE:
		append_counted(out,
			&(struct counted){ "memory pressure",
				SCORE_HALF_MEMORY_PRESSURE, m->memory_pressure,
				n->memory_pressure },
			a, other);
		break;
	case TERM_IO_PRESSURE:
		append_counted(out,
			&(struct counted){ "I/O pressure",
				SCORE_HALF_IO_PRESSURE, m->io_pressure,
				n->io_pressure },
			a, other);
		break;
	case TERM_KVM:
		buffer_printf(out, "; KVM: %s, on %s: %s", kvm_words(one),
			other->node->name, kvm_words(other));
		break;
	case TERM_DATA:
		append_shares(out, "trust in the load data", a->trust, b->trust,
			other->node);
		break;
	case TERM_REJECTED:
		append_rejected(out, a, other);
		break;
	case TERM_FAILED:
		buffer_printf(out, "; this VM failed on %s", other->node->name);
		break;
	default: /* contention is always there; others have no inputs */
		break;
	}
}

static void append_contention(struct buffer *out, const struct score *one,
	const struct candidate *other, bool decides)
{
	if (isnan(one->contention)) {
		return;
	}
	if (decides && !isnan(other->score.contention)) {
		append_counted(out,
			&(struct counted){ "contention", SCORE_HALF_CONTENTION,
				one->contention, other->score.contention },
			one, other);
	} else if (one->contention < least_share) {
		buffer_text(out, "; no contention");
	} else {
		append_shares(out, "contention", one->contention, NAN, NULL);
	}
}

void sentence_load(struct buffer *out, const struct candidate *one,
	const struct candidate *other, const struct score_context *context)
{
	enum score_term term = other == NULL
		? SCORE_TERMS
		: sentence_decisive_term(&one->score, &other->score, NULL);

	append_cpu(out, one, context);
	if (other != NULL) {
		append_inputs(out, term, one, other, context);
	}
	append_contention(out, &one->score, other, term == TERM_CONTENTION);
}

/* ---- the margin ---- */

static const char *term_words(int term)
{
	static const char *const words[SCORE_TERMS] = {
		[TERM_CPU] = "CPU",
		[TERM_MEMORY_PRESSURE] = "memory pressure",
		[TERM_IO_PRESSURE] = "I/O pressure",
		[TERM_KVM] = "KVM",
		[TERM_DATA] = "load data",
		[TERM_REJECTED] = "rejection",
		[TERM_FAILED] = "failure",
		[TERM_PREFERENCES + PREFERENCE_POD_AFFINITY] = "pod affinity",
	};

	if (term < 0 || term >= SCORE_TERMS) {
		return "";
	}
	return words[term] != NULL ? words[term]
				   : score_term_name((enum score_term)term);
}

/* The term that counts most against `one`, if any does. */
static void append_despite(struct buffer *out, const struct score *one,
	const struct score *other)
{
	double points;
	enum score_term term = sentence_decisive_term(other, one, &points);

	if (points >= least_points) {
		buffer_printf(out, ", despite %s (%.0f)", term_words((int)term),
			-round(points));
	}
}

void sentence_margin(struct buffer *out, const struct score *one,
	const struct candidate *other)
{
	double margin = one->total - other->score.total;
	double points;
	enum score_term term =
		sentence_decisive_term(one, &other->score, &points);

	if (!(margin > 0)) {
		buffer_printf(out, "; as good as %s, and first by name",
			other->node->name);
		return;
	}
	if (round(margin) < 1) {
		buffer_printf(out, "; less than a point ahead of %s",
			other->node->name);
	} else {
		buffer_printf(out, "; %.0f point%s ahead of %s", round(margin),
			round(margin) < 2 ? "" : "s", other->node->name);
	}
	if (points >= least_points) {
		buffer_printf(out, ", mostly %s (%.0f)", term_words((int)term),
			round(points));
		append_despite(out, one, &other->score);
	}
}
