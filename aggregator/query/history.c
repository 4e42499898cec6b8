#include "aggregator/query/history.h"

#include "aggregator/series/rates.h"
#include "aggregator/series/slow_values.h"
#include "lib/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Longer than any interval that is not a gap, at the usual intervals. */
static const uint64_t margin_us = 60000000;

struct cell {
	/* Values times seconds; for other fields than means the maximum. */
	double value;
	double weight_s;
};

struct history {
	struct history_query query;
	struct node_load load; /* of the last interval */
	struct cell *cells;    /* rows times fields */
	size_t begun;	       /* rows whose cells are initialized */
	size_t row;	       /* in which the last interval ended */
	double *joined;	       /* of the first rows; NULL: none */
	size_t joined_rows;
	bool means_only; /* all fields are means, the usual case */
	bool has_previous;
	struct report previous;
	uint8_t run_id[REPORT_RUN_ID_BYTES]; /* of previous */
	/* Not every report of a VM's pod has these; they are valid until the
	 * next that does. */
	double memory_bytes, working_set_bytes;
	/* The same for the pods of a node, of which each report has some. */
	bool carries_memory;
};

static bool has_means_only(const struct history_query *query)
{
	for (size_t i = 0; i < query->field_count; i++) {
		if (query->fields[i].stat != HISTORY_QUERY_MEAN) {
			return false;
		}
	}
	return true;
}

static bool has_working_set(const struct history_query *query)
{
	for (size_t i = 0; !query->is_vm && i < query->field_count; i++) {
		if (query->fields[i].figure ==
			ROLLUP_memory_working_set_bytes) {
			return true;
		}
	}
	return false;
}

struct history *history_new(const struct history_query *query)
{
	struct history *history = xcalloc(1, sizeof(*history));

	history->query = *query;
	history->means_only = has_means_only(query);
	history->carries_memory = has_working_set(query);
	history->cells = xrealloc(NULL,
		history_query_row_count(query) * query->field_count,
		sizeof(*history->cells));
	node_load_init(&history->load);
	report_init(&history->previous);
	return history;
}

void history_free(struct history *history)
{
	if (history != NULL) {
		report_fini(&history->previous);
		free(history->cells);
		free(history->joined);
		free(history);
	}
}

const struct history_query *history_query(const struct history *history)
{
	return &history->query;
}

void history_range_ms(uint64_t *from_ms, uint64_t *to_ms,
	const struct history_query *query)
{
	uint64_t from_us = query->from_us;
	uint64_t to_us = query->to_us;

	if (query->tier == STORE_RAW) {
		from_us = from_us > margin_us ? from_us - margin_us : 0;
		to_us += margin_us;
	}
	*from_ms = from_us / 1000;
	*to_ms = to_us / 1000;
}

unsigned int history_parts(const struct history_query *query)
{
	static const unsigned int of_node[] = {
#define X(group, field, unit, parts) parts,
		ROLLUP_NODE_FIELDS(X)
#undef X
	};
	static const unsigned int of_vm[] = {
#define X(field, unit, parts) parts,
		ROLLUP_POD_FIELDS(X)
#undef X
	};
	unsigned int parts = 0;

	for (size_t i = 0; i < query->field_count; i++) {
		size_t figure = query->fields[i].figure;

		parts |= query->is_vm ? of_vm[figure] : of_node[figure];
	}
	return parts;
}

/* Added to a cell per second of an interval: the value and 1, or nothing if the
 * value is not known. */
static struct cell unit_of(double value)
{
	return isfinite(value) ? (struct cell){ value, 1 }
			       : (struct cell){ 0, 0 };
}

/* A day has megabytes of cells: each row is zeroed when it is first written,
 * while it is in the CPU's cache. */
static struct cell *row_cells(struct history *history, size_t row)
{
	const size_t fields = history->query.field_count;

	if (history->begun <= row) {
		memset(&history->cells[history->begun * fields], 0,
			(row + 1 - history->begun) * fields *
				sizeof(*history->cells));
		history->begun = row + 1;
	}
	return &history->cells[row * fields];
}

static void keep_larger(struct cell *cell, const struct cell *unit,
	double seconds)
{
	if (unit->weight_s > 0 &&
		(!(cell->weight_s > 0) || unit->value > cell->value)) {
		cell->value = unit->value;
	}
	cell->weight_s += unit->weight_s * seconds;
}

/* Without a branch, so that the compiler adds value and weight at once. */
static void add_means(struct cell *cells, const struct cell *units,
	size_t count, double seconds)
{
	for (size_t i = 0; i < count; i++) {
		const struct cell unit = units[i];
		const struct cell cell = cells[i];

		cells[i] = (struct cell){ cell.value + unit.value * seconds,
			cell.weight_s + unit.weight_s * seconds };
	}
}

/* units by field. */
static void add_to_row(struct history *history, size_t row, double seconds,
	const struct cell *units)
{
	const struct history_query *query = &history->query;
	struct cell *cells = row_cells(history, row);

	if (history->means_only) {
		add_means(cells, units, query->field_count, seconds);
		return;
	}
	for (size_t i = 0; i < query->field_count; i++) {
		if (query->fields[i].stat == HISTORY_QUERY_MEAN) {
			add_means(&cells[i], &units[i], 1, seconds);
		} else {
			keep_larger(&cells[i], &units[i], seconds);
		}
	}
}

/* The row of a time, mostly `near`. Times before that row wrap around. */
static size_t row_at(const struct history *history, uint64_t us, size_t near)
{
	const struct history_query *query = &history->query;
	uint64_t since_us = us - query->from_us;

	return since_us - near * query->step_us < query->step_us
		? near
		: (size_t)(since_us / query->step_us);
}

/* Spreads an interval's figures over the rows that it overlaps. */
static void add_interval(struct history *history, uint64_t from_us,
	uint64_t to_us, const struct cell *units)
{
	const struct history_query *query = &history->query;

	from_us = from_us < query->from_us ? query->from_us : from_us;
	to_us = to_us > query->to_us ? query->to_us : to_us;
	if (from_us >= to_us) {
		return;
	}
	history->row = row_at(history, from_us, history->row);
	for (;;) {
		uint64_t end_us =
			query->from_us + (history->row + 1) * query->step_us;

		if (end_us > to_us) {
			end_us = to_us;
		}
		add_to_row(history, history->row,
			(double)(end_us - from_us) / 1e6, units);
		if (end_us == to_us) {
			return;
		}
		from_us = end_us;
		history->row++;
	}
}

/* The length of the interval since the previous report; 0: a gap. */
static uint64_t span_of(const struct history *history, const uint8_t *run_id,
	const struct report *report)
{
	uint64_t span_us;

	if (!history->has_previous ||
		(memcmp(history->run_id, run_id, REPORT_RUN_ID_BYTES) != 0 &&
			!rates_cross_runs(&history->previous, report))) {
		return 0;
	}
	span_us = rates_span_us(&history->previous, report);
	return load_state(span_us, report->interval_ms) == LOAD_FRESH ? span_us
								      : 0;
}

/* Selects the query's fields from all figures. */
static void select_units(struct cell *units, const struct history_query *query,
	const double *figures)
{
	for (size_t i = 0; i < query->field_count; i++) {
		units[i] = unit_of(figures[query->fields[i].figure]);
	}
}

static void node_units(struct cell *units, struct history *history,
	const struct report *report, uint64_t span_us)
{
	struct node_load *load = &history->load;
	struct node_rates rates;

	rates_over(&rates, NULL, &history->previous, report, span_us);
	rates_fill_load(load, report, &rates);
	select_units(units, &history->query,
		(const double[ROLLUP_FIELDS]){
#define X(group, field, ...) load->group##_##field,
			ROLLUP_NODE_FIELDS(X)
#undef X
		});
}

static void vm_units(struct cell *units, const struct history *history,
	const struct report *report, uint64_t span_us)
{
	struct node_rates node;
	struct vm_rates vm;

	rates_over(&node, &vm, &history->previous, report, span_us);
	select_units(units, &history->query,
		(const double[ROLLUP_VM_FIELDS]){
			[ROLLUP_VM_used_cores] = vm.used_cores,
			[ROLLUP_VM_contention] = vm.contention,
			[ROLLUP_VM_memory_bytes] = history->memory_bytes,
			[ROLLUP_VM_working_set_bytes] =
				history->working_set_bytes,
		});
}

static void update_memory(struct history *history, const struct report *report,
	bool is_gap)
{
	const struct vm_pod *vm = report->vm_count == 1 ? report->vms : NULL;

	if (is_gap || vm == NULL) {
		history->memory_bytes = NAN;
		history->working_set_bytes = NAN;
	}
	if (vm != NULL && !isnan(rates_vm_memory_bytes(vm))) {
		history->memory_bytes = rates_vm_memory_bytes(vm);
	}
	if (vm != NULL && vm->working_set_bytes != REPORT_UNKNOWN) {
		history->working_set_bytes = (double)vm->working_set_bytes;
	}
}

/* True: both reports of the interval have the VM's pod once. */
static bool lists_pod(const struct history *history,
	const struct report *report)
{
	return report->vm_count == 1 && history->previous.vm_count == 1;
}

void history_add(struct history *history, const uint8_t *run_id,
	uint64_t sample_us, struct report *report)
{
	const bool is_vm = history->query.is_vm;
	uint64_t span_us = span_of(history, run_id, report);

	if (is_vm) {
		update_memory(history, report, span_us == 0);
	} else if (history->carries_memory && span_us > 0) {
		slow_values_carry_memory(report, &history->previous);
	}
	if (span_us > 0 && (!is_vm || lists_pod(history, report))) {
		struct cell units[HISTORY_QUERY_FIELDS_MAX];

		if (is_vm) {
			vm_units(units, history, report, span_us);
		} else {
			node_units(units, history, report, span_us);
		}
		add_interval(history,
			sample_us > span_us ? sample_us - span_us : 0,
			sample_us, units);
	}
	report_fini(&history->previous);
	report_move(&history->previous, report);
	memcpy(history->run_id, run_id, REPORT_RUN_ID_BYTES);
	history->has_previous = true;
}

static double stat_of(const struct rollup_figure *figure,
	enum history_query_stat stat)
{
	return stat == HISTORY_QUERY_MEAN   ? figure->mean
		: stat == HISTORY_QUERY_MAX ? figure->max
					    : figure->p95;
}

/* Steps are a whole number of the tier's rows, and aligned with them. */
void history_add_rollup(struct history *history, const struct rollup_row *from)
{
	const struct history_query *query = &history->query;
	uint64_t from_us = from->from_ms * 1000;
	struct cell units[HISTORY_QUERY_FIELDS_MAX];

	if (from_us < query->from_us || from_us >= query->to_us) {
		return;
	}
	for (size_t i = 0; i < query->field_count; i++) {
		units[i] =
			unit_of(stat_of(&from->figures[query->fields[i].figure],
				query->fields[i].stat));
	}
	add_to_row(history,
		(size_t)((from_us - query->from_us) / query->step_us),
		from->covered_ms / 1e3, units);
}

/* The length of a row. */
static double row_s(const struct history_query *query, size_t row)
{
	uint64_t left_us = query->to_us - query->from_us - row * query->step_us;

	return (double)(left_us < query->step_us ? left_us : query->step_us) /
		1e6;
}

static double value_of(const struct history *history, size_t row,
	const struct history_query_field *field, const struct cell *cell)
{
	double weight_s = cell->weight_s;

	if (!(weight_s > 0)) {
		return NAN;
	}
	if (field->stat != HISTORY_QUERY_MEAN) {
		return cell->value;
	}
	if (field->is_sum) {
		weight_s = fmin(weight_s, row_s(&history->query, row));
	}
	return cell->value / weight_s;
}

/* value_of() for a node's means, which is faster for all fields at once. */
static void divide(double *values, const struct cell *cells, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		values[i] = cells[i].weight_s > 0
			? cells[i].value / cells[i].weight_s
			: (double)NAN;
	}
}

static void stored_row(double *values, const struct history *history,
	size_t row)
{
	static const struct cell none[HISTORY_QUERY_FIELDS_MAX];
	const struct history_query *query = &history->query;
	const struct cell *cells = row < history->begun
		? &history->cells[row * query->field_count]
		: none;

	if (history->means_only && !query->is_vm) {
		divide(values, cells, query->field_count);
		return;
	}
	for (size_t i = 0; i < query->field_count; i++) {
		values[i] =
			value_of(history, row, &query->fields[i], &cells[i]);
	}
}

/* ---- rows of elsewhere ---- */

/* The seconds of the row that are known, of the field that is known best. */
static double known_s(const struct history *history, size_t row)
{
	const size_t fields = history->query.field_count;
	double most = 0;

	for (size_t i = 0; row < history->begun && i < fields; i++) {
		most = fmax(most, history->cells[row * fields + i].weight_s);
	}
	return most;
}

size_t history_missing_rows(const struct history *history)
{
	const struct history_query *query = &history->query;
	const double enough = 0.9;
	uint64_t range_us = query->to_us - query->from_us;
	size_t whole = (size_t)(range_us / query->step_us);
	size_t row = 0;

	while (row < whole && !(known_s(history, row) > 0)) {
		row++;
	}
	if (row < whole && known_s(history, row) < enough * row_s(query, row)) {
		row++;
	}
	return row;
}

void history_join(struct history *history, double *values, size_t rows)
{
	free(history->joined);
	history->joined = values;
	history->joined_rows = rows;
}

void history_row(double *values, const struct history *history, size_t row)
{
	const size_t fields = history->query.field_count;

	stored_row(values, history, row);
	for (size_t i = 0; row < history->joined_rows && i < fields; i++) {
		double joined = history->joined[row * fields + i];

		if (isfinite(joined)) {
			values[i] = joined;
		}
	}
}
