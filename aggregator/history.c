#include "aggregator/history.h"

#include "aggregator/rates.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

/* Longer than any pause that is not a gap at the usual intervals. */
static const uint64_t margin_us = 60000000;

struct cell {
	double sum; /* value times seconds */
	double weight_s;
};

struct history {
	struct query query;
	size_t rows;
	struct cell *cells; /* rows times fields */
	bool has_previous;
	struct report previous;
	uint8_t run_id[REPORT_RUN_ID_BYTES]; /* of previous */
};

struct history *history_new(const struct query *query)
{
	struct history *history = xcalloc(1, sizeof(*history));

	history->query = *query;
	history->rows = query_row_count(query);
	history->cells = xcalloc(history->rows * query->field_count,
		sizeof(*history->cells));
	report_init(&history->previous);
	return history;
}

void history_free(struct history *history)
{
	if (history != NULL) {
		report_fini(&history->previous);
		free(history->cells);
		free(history);
	}
}

const struct query *history_query(const struct history *history)
{
	return &history->query;
}

void history_range_ms(uint64_t *from_ms, uint64_t *to_ms,
	const struct query *query)
{
	uint64_t from_us = query->from_us;

	from_us = from_us > margin_us ? from_us - margin_us : 0;
	*from_ms = from_us / 1000;
	*to_ms = (query->to_us + margin_us) / 1000;
}

static void add_to_row(struct history *history, size_t row, double seconds,
	struct node_load *load)
{
	const struct query *query = &history->query;
	struct cell *cells = &history->cells[row * query->field_count];

	for (size_t i = 0; i < query->field_count; i++) {
		double value = *load_field_of(load, query->fields[i]);

		if (isfinite(value)) {
			cells[i].sum += value * seconds;
			cells[i].weight_s += seconds;
		}
	}
}

/* Spreads an interval's figures over the rows it lies in. */
static void add_interval(struct history *history, uint64_t from_us,
	uint64_t to_us, struct node_load *load)
{
	const struct query *query = &history->query;
	uint64_t row;

	from_us = from_us < query->from_us ? query->from_us : from_us;
	to_us = to_us > query->to_us ? query->to_us : to_us;
	if (from_us >= to_us) {
		return;
	}
	row = (from_us - query->from_us) / query->step_us;
	while (from_us < to_us) {
		uint64_t end_us = query->from_us + (row + 1) * query->step_us;

		end_us = end_us > to_us ? to_us : end_us;
		add_to_row(history, (size_t)row,
			(double)(end_us - from_us) / 1e6, load);
		from_us = end_us;
		row++;
	}
}

static bool is_gap(const struct history *history, const uint8_t *run_id,
	const struct report *report)
{
	uint64_t span_us = rates_span_us(&history->previous, report);

	return !history->has_previous || span_us == 0 ||
		memcmp(history->run_id, run_id, REPORT_RUN_ID_BYTES) != 0 ||
		load_state(span_us, report->interval_ms) != LOAD_FRESH;
}

void history_add(struct history *history, const uint8_t *run_id,
	uint64_t sample_us, struct report *report)
{
	if (!is_gap(history, run_id, report)) {
		uint64_t span_us = rates_span_us(&history->previous, report);
		struct node_rates rates;
		struct node_load load;

		rates_between(&rates, NULL, &history->previous, report);
		node_load_init(&load);
		rates_fill_load(&load, report, &rates);
		add_interval(history,
			sample_us > span_us ? sample_us - span_us : 0,
			sample_us, &load);
	}
	report_fini(&history->previous);
	history->previous = *report;
	report_init(report);
	memcpy(history->run_id, run_id, REPORT_RUN_ID_BYTES);
	history->has_previous = true;
}

double history_value(const struct history *history, size_t row, size_t column)
{
	const struct cell *cell =
		&history->cells[row * history->query.field_count + column];

	return cell->weight_s > 0 ? cell->sum / cell->weight_s : NAN;
}
