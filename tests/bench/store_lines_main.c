/* Prints a database's reports as lines that victoria-metrics imports: for each
 * series of aggregator/series/metric_names.h and each hour
 * {"metric":{...},"values":[...],"timestamps":[...]}, in milliseconds.
 *
 *     store_lines DATABASE
 *
 * No other process may use the database. The last line of standard error holds
 * the numbers of reports and values. */
#include "aggregator/series/metric_names.h"
#include "aggregator/store/hour_scan.h"
#include "aggregator/store/partition.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t hour_ms = 3600000;

/* One series' hour. */
struct line {
	const struct metric *metric;
	char pod_uid[REPORT_UID_MAX]; /* "": the node's */
	char labels[METRIC_LABELS_MAX * (METRIC_LABEL_MAX + 40)];
	struct buffer values, times;
};

struct lines {
	const char *node;
	struct line *lines;
	size_t count, capacity;
	size_t at; /* where the last one was found */
	uint64_t reports, values;
};

static void check(int r, const struct error *err)
{
	if (r < 0) {
		(void)fprintf(stderr, "store_lines: %s\n", err->text);
		exit(1);
	}
}

/* Reports usually hold the same series in the same order: tries the next. */
static struct line *find(struct lines *all, const struct metric *metric,
	const char *pod_uid, const char *labels)
{
	for (size_t i = 0; i < all->count; i++) {
		size_t at = (all->at + 1 + i) % all->count;
		struct line *line = &all->lines[at];

		if (line->metric == metric &&
			strcmp(line->pod_uid, pod_uid) == 0 &&
			strcmp(line->labels, labels) == 0) {
			all->at = at;
			return line;
		}
	}
	all->lines = xgrow(all->lines, all->count, &all->capacity,
		sizeof(*all->lines));
	all->at = all->count;
	all->lines[all->count] = (struct line){ .metric = metric,
		.values = BUFFER_MAX(16 << 20),
		.times = BUFFER_MAX(16 << 20) };
	(void)snprintf(all->lines[all->count].pod_uid, REPORT_UID_MAX, "%s",
		pod_uid);
	(void)snprintf(all->lines[all->count].labels,
		sizeof(all->lines[0].labels), "%s", labels);
	return &all->lines[all->count++];
}

static void add(struct lines *all, const struct metric *metric,
	const char *pod_uid, const struct metric_sample *sample, uint64_t ms)
{
	char labels[sizeof(all->lines[0].labels)] = "";
	struct line *line;
	size_t len = 0;

	for (size_t i = 0; i < sample->label_count; i++) {
		len += (size_t)snprintf(labels + len, sizeof(labels) - len,
			",\"%s\":\"%s\"", sample->labels[i].key,
			sample->labels[i].value);
	}
	line = find(all, metric, pod_uid, labels);
	buffer_printf(&line->values, "%s%.17g",
		line->values.len == 0 ? "" : ",", sample->value);
	buffer_printf(&line->times, "%s%llu", line->times.len == 0 ? "" : ",",
		(unsigned long long)ms);
	all->values++;
}

static void take_vm(struct lines *all, const struct vm_pod *vm, uint64_t ms)
{
	const struct metric *metric;
	struct metric_sample sample;

	for (size_t i = 0; (metric = metric_vm_at(i)) != NULL; i++) {
		if (metric_vm_sample(&sample, metric, vm, NULL)) {
			add(all, metric, vm->pod_uid, &sample, ms);
		}
	}
}

/* The parts of a report without metrics. */
static void take_clocks(struct lines *all, const struct report *report,
	uint64_t ms)
{
	static const struct metric monotonic = { .name = "monotonic_us" };
	static const struct metric wall = { .name = "wall_us" };
	struct metric_sample sample = { .value = (double)report->monotonic_us };

	add(all, &monotonic, "", &sample, ms);
	sample.value = (double)report->wall_us;
	add(all, &wall, "", &sample, ms);
}

static bool take(void *owner, const struct store_row *row)
{
	struct lines *all = owner;
	const struct metric *metric;
	struct metric_sample sample;

	all->reports++;
	for (size_t i = 0; (metric = metric_node_at(i)) != NULL; i++) {
		if (metric_node_sample(&sample, metric, row->report, NULL)) {
			add(all, metric, "", &sample, row->sample_ms);
		}
	}
	take_clocks(all, row->report, row->sample_ms);
	for (size_t i = 0; i < row->report->vm_count; i++) {
		take_vm(all, &row->report->vms[i], row->sample_ms);
	}
	return true;
}

static void print(struct lines *all)
{
	for (size_t i = 0; i < all->count; i++) {
		struct line *line = &all->lines[i];

		(void)printf("{\"metric\":{\"__name__\":\"%s\",\"node\":\"%s\"",
			line->metric->name, all->node);
		if (line->pod_uid[0] != '\0') {
			(void)printf(",\"pod_uid\":\"%s\"", line->pod_uid);
		}
		(void)printf("%s},\"values\":[%.*s],\"timestamps\":[%.*s]}\n",
			line->labels, (int)line->values.len, line->values.data,
			(int)line->times.len, line->times.data);
		buffer_fini(&line->values);
		buffer_fini(&line->times);
	}
	all->count = 0;
	all->at = 0;
}

static void print_node(struct lines *all, struct sqlite3 *db, int64_t node,
	const struct partition_span *span)
{
	struct hour_scan *scan;
	struct error err;

	check(hour_scan_new(&scan, db, &err), &err);
	for (uint64_t ms = span->from_ms / hour_ms * hour_ms; ms < span->end_ms;
		ms += hour_ms) {
		struct hour_scan_range range = { node, all->node, NULL, ms,
			ms + hour_ms, SCHEMA_ALL };
		bool is_done = false;

		check(hour_scan_read(scan, &is_done, &range, take, all, &err),
			&err);
		print(all);
	}
	hour_scan_free(scan);
}

int main(int argc, char **argv)
{
	struct lines all = { 0 };
	struct partition_span span;
	struct sqlite3_stmt *nodes;
	struct sqlite3 *db;
	struct error err;

	if (argc != 2) {
		(void)fprintf(stderr, "store_lines DATABASE\n");
		return 2;
	}
	check(db_open(&db, argv[1], &err), &err);
	check(partition_find_span(&span, db, STORE_RAW, &err), &err);
	check(db_prepare(&nodes, db, "SELECT id, name FROM node", &err), &err);
	while (sqlite3_step(nodes) == SQLITE_ROW) {
		all.node = (const char *)sqlite3_column_text(nodes, 1);
		print_node(&all, db, sqlite3_column_int64(nodes, 0), &span);
	}
	(void)sqlite3_finalize(nodes);
	(void)sqlite3_close(db);
	free(all.lines);
	(void)fprintf(stderr, "reports %llu values %llu\n",
		(unsigned long long)all.reports,
		(unsigned long long)all.values);
	return 0;
}
