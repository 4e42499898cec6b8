#include "scheduler/answers/placement_status.h"

#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "scheduler/filter/host_demand.h"
#include "scheduler/score/decide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	SENTENCE_MAX = 8192,
	/* Room for what follows the nodes. */
	END_MAX = 256,
	/* No node needs more: 62 reasons of 400 bytes. */
	NODE_MAX = 32 << 10,
};

/* ---- order ---- */

/* Best first; then the nodes that are not feasible, by name. */
static int compare(const void *a, const void *b, void *owner)
{
	const struct decision *d = owner;
	size_t left = *(const size_t *)a;
	size_t right = *(const size_t *)b;
	const struct verdict *x = &d->verdicts[left];
	const struct verdict *y = &d->verdicts[right];
	bool is_tie = (x->reasons == 0) == (y->reasons == 0);

	if (!is_tie) {
		return x->reasons == 0 ? -1 : 1;
	}
	if (x->reasons == 0 && x->score != y->score) {
		return x->score > y->score ? -1 : 1;
	}
	return strcmp(d->nodes[left]->name, d->nodes[right]->name);
}

static size_t *order_of(struct decision *d)
{
	size_t *order = xcalloc(d->node_count + 1, sizeof(size_t));

	decision_score_all(d);
	for (size_t i = 0; i < d->node_count; i++) {
		order[i] = i;
	}
	qsort_r(order, d->node_count, sizeof(size_t), compare, d);
	return order;
}

/* ---- a node ---- */

static void write_score(struct json *j, const struct decision *d, size_t index)
{
	struct score s;

	score_node(&s, d->nodes[index], &d->context);
	json_number(j, "score", s.total);
	json_object(j, "terms");
	for (int i = 0; i < SCORE_TERMS; i++) {
		json_number(j, score_term_name((enum score_term)i), s.terms[i]);
	}
	json_object_end(j);
	json_number(j, "cpuExpected",
		isnan(s.cpu_measured)
			? (double)NAN
			: fmax(s.cpu_measured + s.cpu_expected, 0));
	json_number(j, "cpuRoom", s.cpu_room);
	json_number(j, "memoryExpected", s.memory_expected);
}

/* False: something else stands in the way. */
static bool write_demand(struct json *j, const struct decision *d,
	const struct node *node)
{
	scoped_buffer struct buffer text = BUFFER_MAX(FILTER_REASON_TEXT_MAX);
	struct host_demand demand;

	if (!host_demand_unmet(&demand, d->pod, node)) {
		return false;
	}
	buffer_text(&text, "");
	host_demand_tell(&text, &demand, node);
	json_string(j, NULL, text.data);
	return true;
}

static void write_reason(struct json *j, const struct decision *d,
	unsigned reason)
{
	char text[FILTER_REASON_TEXT_MAX];

	json_string(j, NULL,
		filter_reason_text(text, sizeof(text), &d->prefilter, reason));
}

static void write_reasons(struct json *j, const struct decision *d,
	const struct node *node, uint64_t reasons, bool is_foreseen)
{
	json_array(j, "reasons");
	for (unsigned i = 0; reasons != 0; i++, reasons >>= 1) {
		if ((reasons & 1) != 0 &&
			!(i == REASON_AFFINITY && is_foreseen &&
				write_demand(j, d, node))) {
			write_reason(j, d, i);
		}
	}
	json_array_end(j);
}

static void write_node(struct json *j, const struct decision *d, size_t index,
	bool is_foreseen)
{
	const struct node *node = d->nodes[index];
	const struct node_metrics *m = &node->metrics;
	uint64_t reasons = d->verdicts[index].reasons;

	json_object(j, NULL);
	json_string(j, "name", node->name);
	json_bool(j, "feasible", reasons == 0);
	if (m->is_known) {
		json_number(j, "loadAgeSeconds",
			fmax((double)(d->context.now_us - m->sample_us), 0) /
				1e6);
	}
	if (reasons == 0) {
		write_score(j, d, index);
	}
	write_reasons(j, d, node, reasons, is_foreseen);
	json_object_end(j);
}

/* Returns the number of nodes that found no room. */
static size_t write_nodes(struct json *j, struct decision *d, bool is_foreseen)
{
	scoped_free size_t *order = order_of(d);
	size_t i = 0;

	json_array(j, "nodes");
	while (i < d->node_count &&
		j->out->len + NODE_MAX + END_MAX < j->out->max) {
		write_node(j, d, order[i++], is_foreseen);
	}
	json_array_end(j);
	return d->node_count - i;
}

/* ---- all of it ---- */

/* No node is feasible: adds what KubeVirt demands of nodes. */
static void add_demands(struct buffer *text, const struct decision *d,
	bool runs)
{
	struct host_demand_counts counts = { 0 };

	for (size_t i = 0; i < d->node_count; i++) {
		if ((d->verdicts[i].reasons & FILTER_BIT(REASON_AFFINITY)) !=
			0) {
			(void)host_demand_count(&counts, d->pod, d->nodes[i]);
		}
	}
	if (counts.count > 0) {
		buffer_text(text, " What stands in the way: ");
		host_demand_tell_none(text, &counts, runs);
		buffer_text(text, " (");
		host_demand_tell_counts(text, &counts);
		buffer_text(text, ").");
	}
}

static void write_sentence(struct json *j, const struct decision *d,
	const struct placement_status_context *context)
{
	scoped_buffer struct buffer text = BUFFER_MAX(SENTENCE_MAX);

	buffer_text(&text, "");
	if (d->best_count > 0) {
		decision_sentence(&text, d);
	} else {
		decision_message(&text, d);
	}
	if (d->best_count == 0 && context->is_foreseen) {
		add_demands(&text, d, context->current != NULL);
	}
	json_string(j, "sentence", text.data);
}

static void write_chosen(struct json *j, const struct decision *d)
{
	const struct node *chosen = decision_chosen(d);

	if (chosen == NULL) {
		json_null(j, "chosen");
	} else {
		json_string(j, "chosen", chosen->name);
	}
}

void placement_status_write(struct buffer *out,
	const struct placement_status_context *context)
{
	struct decision d = { .policy = context->policy };
	char when[CLOCK_TEXT_MAX];
	struct json j = json_into(out);
	size_t left;

	decide(&d, context->pod, context->cluster,
		&(struct filter_options)FILTER_DEFAULTS, context->now_us);
	json_object(&j, NULL);
	write_chosen(&j, &d);
	write_sentence(&j, &d, context);
	json_string(&j, "scheduler", context->scheduler);
	json_string(&j, "time", clock_text(when, context->wall_us));
	json_string(&j, "policy",
		context->policy == NULL ? "real-load" : context->policy->name);
	if (context->current != NULL) {
		json_string(&j, "currentNode", context->current->name);
	}
	if (context->derivation != NULL) {
		json_raw(&j, "derived", context->derivation);
	}
	json_unsigned(&j, "feasibleNodes", d.feasible_count);
	json_unsigned(&j, "totalNodes", d.node_count);
	left = write_nodes(&j, &d, context->is_foreseen);
	if (left > 0) {
		json_unsigned(&j, "nodesLeftOut", left);
	}
	json_object_end(&j);
	decision_fini(&d);
}
