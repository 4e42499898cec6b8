#include "scheduler/answers/placement_status.h"

#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"
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

static void write_reasons(struct json *j, const struct decision *d,
	uint64_t reasons)
{
	json_array(j, "reasons");
	for (unsigned i = 0; reasons != 0; i++, reasons >>= 1) {
		char text[FILTER_REASON_TEXT_MAX];

		if ((reasons & 1) != 0) {
			json_string(j, NULL,
				filter_reason_text(text, sizeof(text),
					&d->prefilter, i));
		}
	}
	json_array_end(j);
}

static void write_node(struct json *j, const struct decision *d, size_t index)
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
	write_reasons(j, d, reasons);
	json_object_end(j);
}

/* Returns the number of nodes that found no room. */
static size_t write_nodes(struct json *j, struct decision *d)
{
	scoped_free size_t *order = order_of(d);
	size_t i = 0;

	json_array(j, "nodes");
	while (i < d->node_count &&
		j->out->len + NODE_MAX + END_MAX < j->out->max) {
		write_node(j, d, order[i++]);
	}
	json_array_end(j);
	return d->node_count - i;
}

/* ---- all of it ---- */

static void write_sentence(struct json *j, const struct decision *d)
{
	scoped_buffer struct buffer text = BUFFER_MAX(SENTENCE_MAX);

	buffer_text(&text, "");
	if (d->best_count > 0) {
		decision_sentence(&text, d);
	} else {
		decision_message(&text, d);
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
	write_sentence(&j, &d);
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
	left = write_nodes(&j, &d);
	if (left > 0) {
		json_unsigned(&j, "nodesLeftOut", left);
	}
	json_object_end(&j);
	decision_fini(&d);
}
