#include "kubectl/decision_list.h"

#include "kube/json_value.h"
#include "kubectl/escape.h"
#include "kubectl/fields.h"
#include "kubectl/figures.h"
#include "kubectl/table.h"
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { WORDS_MAX = 1 << 20 };

void decision_list_fini(struct decision_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->entries[i].text);
	}
	list->count = 0;
}

/* "  3 nodes: REASON (a, b, c)" */
static void put_rejection(struct buffer *out, const struct json_value *r)
{
	scoped_free char *reason = field_text(r, "reason", "not feasible");
	double nodes = field_number(r, "nodes");
	const struct json_value *name =
		json_value_first(json_value_get(r, "names"));
	char count[FIGURE_MAX];

	buffer_printf(out, "  not feasible: %s node%s: %s",
		figure_whole(count, nodes), nodes == 1 ? "" : "s", reason);
	for (const char *before = " ("; name != NULL;
		name = json_value_next(name), before = ", ") {
		scoped_free char *text = escape_copy(json_value_text(name));

		buffer_printf(out, "%s%s", before, text);
	}
	if (json_value_count(json_value_get(r, "names")) > 0) {
		bool is_cut = nodes >
			(double)json_value_count(json_value_get(r, "names"));

		buffer_text(out, is_cut ? ", ...)" : ")");
	}
	buffer_char(out, '\n');
}

static void put_scores(struct buffer *out, const struct json_value *status)
{
	static const char *const headers[] = { "  NODE", "SCORE",
		"CPU-EXPECTED", "MEMORY-EXPECTED", "CONTENTION", NULL };
	const struct json_value *at =
		json_value_first(json_value_get(status, "best"));
	struct table table;

	if (at == NULL) {
		return;
	}
	table_init(&table, headers);
	for (; at != NULL; at = json_value_next(at)) {
		scoped_free char *node = field_text(at, "node", "-");
		scoped_free char *cell = xasprintf("  %s", node);
		char text[FIGURE_MAX];

		table_cell(&table, cell);
		table_cell(&table,
			figure_cores(text, field_number(at, "score")));
		table_cell(&table,
			figure_share(text, field_number(at, "cpuExpected")));
		table_cell(&table,
			figure_share(text, field_number(at, "memoryExpected")));
		table_cell(&table,
			figure_share(text, field_number(at, "contention")));
	}
	table_write(out, &table, true);
	table_fini(&table);
}

/* Ages are by this machine's clock, as kubectl's are. */
static void put_words(struct buffer *out, const struct json_value *decision,
	bool is_wide)
{
	const struct json_value *status = json_value_get(decision, "status");
	scoped_free char *pod = field_text(decision, "spec/podName", "-");
	scoped_free char *chosen = field_text(status, "chosen", "");
	scoped_free char *sentence = field_text(status, "sentence", "");
	double age =
		(double)clock_wall_us() / 1e6 - field_time_s(status, "time");
	const struct json_value *at =
		json_value_first(json_value_get(status, "rejections"));
	char text[FIGURE_MAX];

	if (*chosen == '\0') {
		buffer_printf(out, "%s ago, no node was feasible for pod %s.\n",
			figure_age(text, age), pod);
	} else {
		buffer_printf(out, "%s ago, %s was chosen for pod %s.\n",
			figure_age(text, age), chosen, pod);
	}
	if (*sentence != '\0') {
		buffer_printf(out, "  %s\n", sentence);
	}
	for (; at != NULL; at = json_value_next(at)) {
		put_rejection(out, at);
	}
	if (is_wide) {
		put_scores(out, status);
	}
}

static char *text_of(const struct decision_list *list,
	const struct json_value *decision)
{
	struct buffer out = BUFFER_MAX(WORDS_MAX);

	if (!output_is_table(list->output)) {
		return output_item(list->output, decision);
	}
	put_words(&out, decision, list->output == OUTPUT_WIDE);
	return buffer_take(&out, NULL);
}

void decision_list_add(struct decision_list *list,
	const struct json_value *decision)
{
	double time_s = field_time_s(decision, "status/time");
	size_t at = list->count;

	time_s = isnan(time_s) ? 0 : time_s;
	while (at > 0 && list->entries[at - 1].time_s < time_s) {
		at--;
	}
	if (at == list->max) {
		return;
	}
	for (size_t i = list->count; i > at; i--) {
		list->entries[i] = list->entries[i - 1];
	}
	list->entries[at] =
		(struct decision_entry){ time_s, text_of(list, decision) };
	list->count++;
	if (list->count > list->max) {
		free(list->entries[--list->count].text);
	}
}

static const char *entry_text(const void *list, unsigned long i)
{
	return ((const struct decision_list *)list)->entries[i].text;
}

void decision_list_write(struct buffer *out, const struct decision_list *list)
{
	if (!output_is_table(list->output)) {
		output_list(out, list->output, list, list->count, entry_text);
		return;
	}
	for (size_t i = 0; i < list->count; i++) {
		buffer_text(out, list->entries[i].text);
	}
}
