#include "kubectl/move_rows.h"

#include "kube/json_value.h"
#include "kubectl/fields.h"
#include "kubectl/figures.h"
#include "kubectl/table.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void move_rows_fini(struct move_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		struct move_row *row = &rows->rows[i];

		free(row->namespace);
		free(row->vm);
		free(row->source);
		free(row->target);
		free(row->state);
		free(row->reason);
		free(row->sentence);
		free(row->text);
	}
	free(rows->rows);
	rows->rows = NULL;
	rows->count = rows->capacity = 0;
}

/* The states of a move that has not ended, the most urgent first. */
static size_t rank(const char *state)
{
	static const char *const states[] = { "Running", "Ordered",
		"Recommended" };
	size_t i = 0;

	while (i < count_of(states) && strcasecmp(state, states[i]) != 0) {
		i++;
	}
	return i;
}

enum { RANKS = 3 };

void move_rows_add(struct move_rows *rows, const struct json_value *move)
{
	if (rank(json_value_text_at(move, "status/state", "")) == RANKS) {
		return;
	}
	rows->rows = xgrow(rows->rows, rows->count, &rows->capacity,
		sizeof(*rows->rows));
	rows->rows[rows->count++] = (struct move_row){
		.namespace = field_text(move, "metadata/namespace", ""),
		.vm = field_text(move, "spec/vmName", "-"),
		.source = field_text(move, "spec/sourceNode", "-"),
		.target = field_text(move, "spec/targetNode", "-"),
		.state = field_text(move, "status/state", "-"),
		.reason = field_text(move, "spec/reason", "-"),
		.sentence = field_text(move, "status/sentence", ""),
		.text = output_item(rows->output, move),
		.gain = field_number(move, "status/gain"),
	};
}

static int compare(const void *left, const void *right)
{
	const struct move_row *a = left;
	const struct move_row *b = right;
	size_t rank_a = rank(a->state);
	size_t rank_b = rank(b->state);
	double gain_a = isnan(a->gain) ? 0 : a->gain;
	double gain_b = isnan(b->gain) ? 0 : b->gain;

	if (rank_a != rank_b) {
		return rank_a < rank_b ? -1 : 1;
	}
	if (gain_a != gain_b) {
		return gain_a > gain_b ? -1 : 1;
	}
	return strcmp(a->vm, b->vm);
}

static const char *text_of(const void *list, unsigned long i)
{
	return ((const struct move_rows *)list)->rows[i].text;
}

static void put_row(struct table *table, const struct move_row *row,
	bool has_namespaces, bool is_wide)
{
	char gain[FIGURE_MAX];

	if (has_namespaces) {
		table_cell(table, row->namespace);
	}
	table_cell(table, row->vm);
	table_cell(table, row->source);
	table_cell(table, row->target);
	table_cell(table, row->state);
	table_cell(table, row->reason);
	table_cell(table, figure_cores(gain, row->gain));
	if (is_wide) {
		table_cell(table, row->sentence);
	}
}

void move_rows_write(struct buffer *out, struct move_rows *rows,
	bool has_namespaces)
{
	const char *headers[] = { "NAMESPACE", "VM", "FROM", "TO", "STATE",
		"SHORT-OF", "SAVES(core-steps)", "SENTENCE", NULL };
	bool is_wide = rows->output == OUTPUT_WIDE;
	struct table table;

	if (rows->count > 1) {
		qsort(rows->rows, rows->count, sizeof(*rows->rows), compare);
	}
	if (!output_is_table(rows->output)) {
		output_list(out, rows->output, rows, rows->count, text_of);
		return;
	}
	if (rows->count == 0) {
		buffer_text(out, "No move is recommended or under way.\n");
		return;
	}
	if (!is_wide) {
		headers[count_of(headers) - 2] = NULL;
	}
	table_init(&table, headers + (has_namespaces ? 0 : 1));
	for (size_t i = 0; i < rows->count; i++) {
		put_row(&table, &rows->rows[i], has_namespaces, is_wide);
	}
	table_write(out, &table, true);
	table_fini(&table);
}
