#include "aggregator/series/rollup.h"

#include "aggregator/series/rates.h"
#include "aggregator/series/slow_values.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "proto/load.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t minute_ms = 60000;
static const uint64_t hour_length_ms = 3600000;

/* The parts of an interval in one minute each. An array that doubles would take
 * twice the memory of its samples. */
enum { BLOCK_SAMPLES = 32 };

struct block {
	struct block *next;
	size_t count;
	uint16_t weights_ms[BLOCK_SAMPLES];
	uint8_t minutes[BLOCK_SAMPLES];
	double values[]; /* of each sample, by field */
};

struct series {
	char uid[REPORT_UID_MAX];
	size_t fields;
	size_t reports; /* number of the last report with the series, from 1 */
	struct block *first, **next;
	struct block *last; /* NULL: none */
	size_t count;	    /* samples */
};

struct rollup {
	uint64_t hour_ms;
	bool has_pods;
	struct series **series;
	size_t count, capacity;
	struct map by_uid;
	size_t reports;	    /* added so far */
	size_t pod_samples; /* of all pods */
	bool is_full;	    /* a pod was left out; there are no new pods */
	uint64_t left_out;
	bool has_previous;
	struct report previous;
	uint8_t run_id[REPORT_RUN_ID_BYTES]; /* of previous */
};

static struct series *add_series(struct rollup *rollup, const char *uid,
	size_t fields)
{
	struct series *series = xcalloc(1, sizeof(*series));

	memcpy(series->uid, uid, strnlen(uid, sizeof(series->uid) - 1));
	series->fields = fields;
	series->next = &series->first;
	rollup->series = xgrow(rollup->series, rollup->count, &rollup->capacity,
		sizeof(struct series *));
	rollup->series[rollup->count++] = series;
	return series;
}

static void free_series(struct series *series)
{
	while (series->first != NULL) {
		struct block *block = series->first;

		series->first = block->next;
		free(block);
	}
	free(series);
}

struct rollup *rollup_new(uint64_t hour_ms, bool has_pods)
{
	struct rollup *rollup = xcalloc(1, sizeof(*rollup));

	rollup->hour_ms = hour_ms;
	rollup->has_pods = has_pods;
	report_init(&rollup->previous);
	(void)add_series(rollup, "", ROLLUP_FIELDS);
	return rollup;
}

void rollup_free(struct rollup *rollup)
{
	if (rollup == NULL) {
		return;
	}
	for (size_t i = 0; i < rollup->count; i++) {
		free_series(rollup->series[i]);
	}
	free(rollup->series);
	map_fini(&rollup->by_uid);
	report_fini(&rollup->previous);
	free(rollup);
}

/* ---- adding ---- */

static size_t block_bytes(const struct series *series)
{
	return sizeof(struct block) +
		BLOCK_SAMPLES * series->fields * sizeof(double);
}

static void add_block(struct series *series)
{
	struct block *block = xrealloc(NULL, 1, block_bytes(series));

	block->next = NULL;
	block->count = 0;
	*series->next = block;
	series->next = &block->next;
	series->last = block;
}

static void add_sample(struct series *series, uint64_t minute,
	uint64_t weight_ms, const double *values)
{
	struct block *block;

	if (series->last == NULL || series->last->count == BLOCK_SAMPLES) {
		add_block(series);
	}
	block = series->last;
	block->weights_ms[block->count] = (uint16_t)weight_ms;
	block->minutes[block->count] = (uint8_t)minute;
	memcpy(block->values + block->count * series->fields, values,
		series->fields * sizeof(double));
	block->count++;
	series->count++;
}

/* Adds the figures of an interval to the minutes that it overlaps. */
static void add_interval(const struct rollup *rollup, struct series *series,
	const uint64_t range_ms[2], const double *values)
{
	uint64_t end_ms = rollup->hour_ms + hour_length_ms;
	uint64_t at =
		range_ms[0] < rollup->hour_ms ? rollup->hour_ms : range_ms[0];

	end_ms = range_ms[1] < end_ms ? range_ms[1] : end_ms;
	while (at < end_ms) {
		uint64_t minute = (at - rollup->hour_ms) / minute_ms;
		uint64_t next = rollup->hour_ms + (minute + 1) * minute_ms;

		next = next < end_ms ? next : end_ms;
		add_sample(series, minute, next - at, values);
		at = next;
	}
}

/* Drops the pod that was named last. */
static void drop_pod(struct rollup *rollup)
{
	struct series *series = rollup->series[rollup->count - 1];

	rollup->count--;
	rollup->is_full = true;
	rollup->left_out += series->count;
	rollup->pod_samples -= series->count;
	(void)map_remove(&rollup->by_uid, series->uid);
	free_series(series);
}

/* NULL: the pod is left out. */
static struct series *find_pod(struct rollup *rollup, const char *uid)
{
	struct series *series = map_get(&rollup->by_uid, uid);

	if (series == NULL && rollup->count > ROLLUP_PODS_MAX) {
		rollup->is_full = true;
	}
	if (series == NULL && !rollup->is_full) {
		series = add_series(rollup, uid, ROLLUP_VM_FIELDS);
		(void)map_put(&rollup->by_uid, uid, series);
	}
	return series;
}

/* A report counts once for a pod, even if it names the pod twice. */
static void add_pod(struct rollup *rollup, const char *uid,
	const uint64_t range_ms[2], const double *values)
{
	struct series *series = find_pod(rollup, uid);
	size_t before;

	if (series == NULL) {
		rollup->left_out++;
		return;
	}
	if (series->reports == rollup->reports) {
		return;
	}
	before = series->count;
	add_interval(rollup, series, range_ms, values);
	series->reports = rollup->reports;
	rollup->pod_samples += series->count - before;
	while (rollup->pod_samples > ROLLUP_SAMPLES_MAX) {
		drop_pod(rollup);
	}
}

static void add_pods(struct rollup *rollup, const struct report *report,
	const struct vm_rates *rates, const uint64_t range_ms[2])
{
	for (size_t i = 0; i < report->vm_count; i++) {
		const struct vm_pod *vm = &report->vms[i];
		const double values[ROLLUP_VM_FIELDS] = {
			[ROLLUP_VM_used_cores] = rates[i].used_cores,
			[ROLLUP_VM_contention] = rates[i].contention,
			[ROLLUP_VM_memory_bytes] = rates_vm_memory_bytes(vm),
			[ROLLUP_VM_working_set_bytes] =
				rates_known(vm->working_set_bytes),
		};

		add_pod(rollup, vm->pod_uid, range_ms, values);
	}
}

static void add_rates(struct rollup *rollup, const struct report *report,
	const uint64_t range_ms[2])
{
	scoped_free struct vm_rates *vms =
		xcalloc(report->vm_count, sizeof(*vms));
	struct node_rates rates;
	struct node_load load;

	rates_between(&rates, vms, &rollup->previous, report);
	node_load_init(&load);
	rates_fill_load(&load, report, &rates);
	const double values[ROLLUP_FIELDS] = {
#define X(group, field, ...) load.group##_##field,
		ROLLUP_NODE_FIELDS(X)
#undef X
	};
	add_interval(rollup, rollup->series[0], range_ms, values);
	rollup->reports++;
	if (rollup->has_pods) {
		add_pods(rollup, report, vms, range_ms);
	}
}

void rollup_add(struct rollup *rollup, const uint8_t *run_id,
	uint64_t sample_ms, struct report *report)
{
	uint64_t span_us = rates_span_us(&rollup->previous, report);
	bool is_gap = !rollup->has_previous || span_us == 0 ||
		(memcmp(rollup->run_id, run_id, REPORT_RUN_ID_BYTES) != 0 &&
			!rates_cross_runs(&rollup->previous, report)) ||
		load_state(span_us, report->interval_ms) != LOAD_FRESH;

	if (!is_gap && !rollup_is_too_large(rollup)) {
		uint64_t span_ms = span_us / 1000;

		slow_values_carry_memory(report, &rollup->previous);
		add_rates(rollup, report,
			(uint64_t[]){ sample_ms > span_ms ? sample_ms - span_ms
							  : 0,
				sample_ms });
	}
	report_fini(&rollup->previous);
	report_move(&rollup->previous, report);
	memcpy(rollup->run_id, run_id, REPORT_RUN_ID_BYTES);
	rollup->has_previous = true;
}

bool rollup_is_too_large(const struct rollup *rollup)
{
	return rollup->series[0]->count > ROLLUP_SERIES_SAMPLES_MAX;
}

uint64_t rollup_left_out(const struct rollup *rollup)
{
	return rollup->left_out;
}

size_t rollup_bytes(const struct rollup *rollup)
{
	size_t bytes = 0;

	for (size_t i = 0; i < rollup->count; i++) {
		const struct series *series = rollup->series[i];
		size_t blocks =
			(series->count + BLOCK_SAMPLES - 1) / BLOCK_SAMPLES;

		bytes += sizeof(*series) + blocks * block_bytes(series);
	}
	return bytes;
}

/* ---- figures ---- */

struct weighed {
	double value, weight_ms;
};

/* Insertion sort of one element, among those a gap apart. */
static void sift(struct weighed *list, size_t from, size_t gap)
{
	struct weighed moved = list[from];
	size_t at = from;

	while (at >= gap && list[at - gap].value > moved.value) {
		list[at] = list[at - gap];
		at -= gap;
	}
	list[at] = moved;
}

/* Shell's sort with Ciura's gaps: it sorts the 200,000 values of an hour of 30
 * VMs faster than qsort() with its callback. */
static void sort(struct weighed *list, size_t count)
{
	static const size_t gaps[] = { 1577, 701, 301, 132, 57, 23, 10, 4, 1 };

	for (size_t g = 0; g < count_of(gaps); g++) {
		for (size_t i = gaps[g]; i < count; i++) {
			sift(list, i, gaps[g]);
		}
	}
}

static struct rollup_figure figure_of(struct weighed *list, size_t count)
{
	struct rollup_figure figure = { NAN, NAN, NAN };
	double weight_ms = 0, sum = 0, below_ms = 0;
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		weight_ms += list[i].weight_ms;
		sum += list[i].value * list[i].weight_ms;
	}
	if (count == 0) {
		return figure;
	}
	sort(list, count);
	below_ms = list[0].weight_ms;
	while (at + 1 < count && below_ms < 0.95 * weight_ms) {
		at++;
		below_ms += list[at].weight_ms;
	}
	figure.mean = sum / weight_ms;
	figure.max = list[count - 1].value;
	figure.p95 = list[at].value;
	return figure;
}

/* The samples of a series by minute: those of minute m are from begins[m] to
 * begins[m + 1]. Field f of sample i is values[i * fields + f]. */
struct samples {
	size_t begins[ROLLUP_ROWS + 1];
	double *weights_ms; /* owned */
	double *values;	    /* owned */
	size_t fields;
};

/* The known values of a field, of the samples from..to. */
static size_t collect(struct weighed *list, const struct samples *samples,
	size_t field, size_t from, size_t to)
{
	size_t count = 0;

	for (size_t i = from; i < to; i++) {
		double value = samples->values[i * samples->fields + field];

		if (!isnan(value)) {
			list[count++] = (struct weighed){ value,
				samples->weights_ms[i] };
		}
	}
	return count;
}

static void fill_row(struct rollup_row *row, const struct samples *samples,
	size_t from, size_t to)
{
	scoped_free struct weighed *list = xcalloc(to - from, sizeof(*list));
	double covered_ms = 0;

	for (size_t i = from; i < to; i++) {
		covered_ms += samples->weights_ms[i];
	}
	row->covered_ms = (uint32_t)covered_ms;
	for (size_t f = 0; f < ROLLUP_FIELDS; f++) {
		size_t count = f < samples->fields
			? collect(list, samples, f, from, to)
			: 0;

		row->figures[f] = figure_of(list, count);
	}
}

size_t rollup_series_count(const struct rollup *rollup)
{
	return rollup->count;
}

const char *rollup_series_uid(const struct rollup *rollup, size_t series)
{
	return rollup->series[series]->uid;
}

static void find_begins(size_t begins[ROLLUP_ROWS + 1],
	const struct series *series)
{
	for (const struct block *block = series->first; block != NULL;
		block = block->next) {
		for (size_t i = 0; i < block->count; i++) {
			begins[block->minutes[i] + 1]++;
		}
	}
	for (size_t m = 0; m < ROLLUP_ROWS; m++) {
		begins[m + 1] += begins[m];
	}
}

/* Sorts the samples of a series by minute. They are out of order if runs
 * overlap. */
static void sort_samples(struct samples *out, const struct series *series)
{
	const size_t fields = series->fields;
	size_t ends[ROLLUP_ROWS];

	*out = (struct samples){ .fields = fields };
	out->weights_ms = xrealloc(NULL, series->count, sizeof(double));
	out->values = xrealloc(NULL, series->count, fields * sizeof(double));
	find_begins(out->begins, series);
	memcpy(ends, out->begins, sizeof(ends));
	for (const struct block *block = series->first; block != NULL;
		block = block->next) {
		for (size_t i = 0; i < block->count; i++) {
			size_t at = ends[block->minutes[i]]++;

			out->weights_ms[at] = block->weights_ms[i];
			memcpy(out->values + at * fields,
				block->values + i * fields,
				fields * sizeof(double));
		}
	}
}

static size_t fill_rows(struct rollup_row rows[ROLLUP_ROWS], uint64_t hour_ms,
	const struct samples *samples)
{
	size_t count = 0;

	for (size_t m = 0; m < ROLLUP_ROWS; m++) {
		size_t from = samples->begins[m];
		size_t to = samples->begins[m + 1];

		if (from < to) {
			rows[count].from_ms = hour_ms + m * minute_ms;
			fill_row(&rows[count], samples, from, to);
			count++;
		}
	}
	return count;
}

size_t rollup_rows(struct rollup_row rows[ROLLUP_ROWS],
	const struct rollup *rollup, size_t series, bool is_hour)
{
	const struct series *from = rollup->series[series];
	struct samples samples;
	size_t count = 1;

	if (from->count == 0) {
		return 0;
	}
	sort_samples(&samples, from);
	if (is_hour) {
		rows[0].from_ms = rollup->hour_ms;
		fill_row(&rows[0], &samples, 0, from->count);
	} else {
		count = fill_rows(rows, rollup->hour_ms, &samples);
	}
	free(samples.weights_ms);
	free(samples.values);
	return count;
}
