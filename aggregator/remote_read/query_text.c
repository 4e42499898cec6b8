#include "aggregator/remote_read/query_text.h"

#include "aggregator/series/label_flags.h"
#include "kube/url_query.h"
#include "lib/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char query_text_label[] = "plimsoll_field";

/* Points of a subquery. VictoriaMetrics 1.79 allows 30,000, and Prometheus
 * takes 10 us for each operation at each point. Contention has twenty. */
enum { POINTS_MAX = 25000, CONTENTION_POINTS_MAX = 3000, PARTS_MAX = 2500 };

static const uint64_t second_ms = 1000;
static const uint64_t minute_ms = 60000;

/* As load_state(): a longer interval is a gap. */
static const uint64_t stale_ms = 15000;

/* One expression under way. */
struct writer {
	struct buffer *out;
	const struct query_text *text;
	/* How a total and a figure become values, and over how long. */
	const char *of_total, *of_gauge;
	uint64_t total_ms, gauge_ms;
	const char *over_pods; /* how the pods of a VM become one value */
};

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- selectors ---- */

/* A string of PromQL, as of Go. Nothing in value ends it. */
static void write_string(struct buffer *out, const char *value)
{
	buffer_char(out, '"');
	for (; *value != '\0'; value++) {
		unsigned char c = (unsigned char)*value;

		if (c == '"' || c == '\\') {
			buffer_char(out, '\\');
			buffer_char(out, *value);
		} else if (c < ' ' || c == 0x7f) {
			buffer_printf(out, "\\x%02x", c);
		} else {
			buffer_char(out, *value);
		}
	}
	buffer_char(out, '"');
}

static void write_match(struct buffer *out, const char *name, size_t len,
	const char *value)
{
	buffer_append(out, name, len);
	buffer_char(out, '=');
	write_string(out, value);
}

static void write_owner(const struct writer *w)
{
	const struct query_text *text = w->text;
	struct buffer *out = w->out;

	if (text->node != NULL) {
		write_match(out, "node", 4, text->node);
	} else {
		write_match(out, "namespace", 9, text->namespace);
		buffer_char(out, ',');
		write_match(out, "name", 4, text->name);
	}
	for (size_t i = 0; i < text->labels->count; i++) {
		const char *label = text->labels->items[i];
		const char *equals = strchr(label, '=');

		buffer_char(out, ',');
		write_match(out, label, (size_t)(equals - label), equals + 1);
	}
}

/* function(metric{...,more}[ms]) */
static void write_values(const struct writer *w, const char *metric,
	const char *more, bool is_total)
{
	buffer_printf(w->out, "%s(%s{", is_total ? w->of_total : w->of_gauge,
		metric);
	write_owner(w);
	buffer_printf(w->out, "%s}[%" PRIu64 "ms])", more,
		is_total ? w->total_ms : w->gauge_ms);
}

/* max by (by) (...): one value of each, if the series are there twice. */
static void write_largest(const struct writer *w, const char *by,
	const char *metric, const char *more, bool is_total)
{
	buffer_printf(w->out, "max by (%s) (", by);
	write_values(w, metric, more, is_total);
	buffer_char(w->out, ')');
}

/* Only series of plimsoll have the pod's uid; cAdvisor's have not. */
static const char of_pods[] = ",pod_uid!=\"\"";

static void write_pods(const struct writer *w, const char *metric)
{
	write_values(w, metric, of_pods, true);
}

/* ---- figures ---- */

static const char node_cores[] = "plimsoll_node_cpu_cores";
static const char pod_cores[] = "container_cpu_usage_seconds_total";
static const char pod_waits[] = "container_pressure_cpu_waiting_seconds_total";

/* As series/rates.h, of each pod: max(0, some - min(full, throttled)); a pod
 * without a quota is not throttled. Series of one source have the same labels,
 * so that those of another do not mix with them. */
static void write_pod_contention(const struct writer *w)
{
	static const char full[] =
		"container_pressure_cpu_stalled_seconds_total";
	static const char held[] = "container_cpu_cfs_throttled_seconds_total";

	buffer_text(w->out, "clamp_max(clamp_min(");
	write_pods(w, pod_waits);
	buffer_text(w->out, " - (");
	write_pods(w, full);
	buffer_text(w->out, " < ");
	write_pods(w, held);
	buffer_text(w->out, " or ");
	write_pods(w, held);
	buffer_text(w->out, " or 0 * ");
	write_pods(w, pod_waits);
	buffer_text(w->out, "), 0), 1)");
}

static void write_share(const struct writer *w, const char *metric)
{
	buffer_text(w->out, "clamp_max(");
	write_largest(w, "", metric, "", true);
	buffer_text(w->out, ", 1)");
}

static void write_used_cores(const struct writer *w)
{
	buffer_text(w->out, "sum by () (");
	write_largest(w, "mode", "plimsoll_node_cpu_seconds_total",
		",mode=~\"user|nice|system|irq|softirq\"", true);
	buffer_char(w->out, ')');
}

static const char node_pressure[] = "node_pressure_cpu_waiting_seconds_total";

/* A pod that uses no CPU still counts where no pod does. */
static void write_weight(const struct writer *w)
{
	buffer_text(w->out, "(");
	write_pods(w, pod_cores);
	buffer_text(w->out, " + 1e-9)");
}

/* As series/rates.h: the mean of the pods by their use. Without pods that know
 * it, the node's own pressure where more than 70 % of the CPUs are used, and 0
 * below 5 % on a node without pods. */
static void write_node_contention(const struct writer *w)
{
	struct buffer *out = w->out;

	buffer_text(out, "sum by () (");
	write_pod_contention(w);
	buffer_text(out, " * ");
	write_weight(w);
	buffer_text(out, ") / sum by () (");
	write_weight(w);
	buffer_text(out, " and ");
	write_pods(w, pod_waits);
	buffer_text(out, ") or ");
	write_share(w, node_pressure);
	buffer_text(out, " and ");
	write_used_cores(w);
	buffer_text(out, " > 0.7 * ");
	write_largest(w, "", node_cores, "", false);
	buffer_text(out, " or 0 * (");
	write_share(w, node_pressure);
	buffer_text(out, " < 0.05) unless count by () (");
	write_pods(w, pod_cores);
	buffer_char(out, ')');
}

/* Figures of one series; NULL: others. */
static const char *const node_gauges[ROLLUP_FIELDS] = {
	[ROLLUP_cpu_cores] = node_cores,
	[ROLLUP_memory_total_bytes] = "node_memory_MemTotal_bytes",
	[ROLLUP_memory_available_bytes] = "node_memory_MemAvailable_bytes",
	[ROLLUP_memory_working_set_bytes] =
		"plimsoll_node_memory_working_set_bytes",
};
static const char *const node_shares[ROLLUP_FIELDS] = {
	[ROLLUP_cpu_pressure_some] = node_pressure,
	[ROLLUP_memory_pressure_some] =
		"node_pressure_memory_waiting_seconds_total",
	[ROLLUP_memory_pressure_full] =
		"node_pressure_memory_stalled_seconds_total",
	[ROLLUP_io_pressure_some] = "node_pressure_io_waiting_seconds_total",
	[ROLLUP_io_pressure_full] = "node_pressure_io_stalled_seconds_total",
};
static const char *const vm_gauges[ROLLUP_VM_FIELDS] = {
	[ROLLUP_VM_memory_bytes] = "plimsoll_vm_memory_bytes",
	[ROLLUP_VM_working_set_bytes] = "container_memory_working_set_bytes",
};

static const char by_pod[] = "node,pod_uid";

static void write_gauge(const struct writer *w, size_t figure)
{
	if (w->text->node != NULL) {
		write_largest(w, "", node_gauges[figure], "", false);
	} else {
		buffer_printf(w->out, "%s by () (", w->over_pods);
		write_largest(w, by_pod, vm_gauges[figure], of_pods, false);
		buffer_char(w->out, ')');
	}
}

static void write_rate(const struct writer *w, size_t figure)
{
	if (w->text->node == NULL) {
		buffer_printf(w->out, "%s by () (", w->over_pods);
		if (figure == ROLLUP_VM_contention) {
			write_pod_contention(w);
		} else {
			write_largest(w, by_pod, pod_cores, of_pods, true);
		}
		buffer_char(w->out, ')');
	} else if (figure == ROLLUP_cpu_used_cores) {
		write_used_cores(w);
	} else if (figure == ROLLUP_cpu_contention) {
		write_node_contention(w);
	} else {
		write_share(w, node_shares[figure]);
	}
}

/* VictoriaMetrics' rate() of a single sample is 0, which is no figure: there
 * must be two. */
static void write_two_samples(const struct writer *w)
{
	struct writer count = *w;

	count.of_total = "count_over_time";
	buffer_text(w->out, " and on () ");
	write_values(&count, w->text->node != NULL ? node_cores : pod_cores,
		w->text->node != NULL ? "" : of_pods, true);
	buffer_text(w->out, " > 1");
}

static void write_figure(const struct writer *w, size_t figure)
{
	bool is_gauge = w->text->node != NULL ? node_gauges[figure] != NULL
					      : vm_gauges[figure] != NULL;

	if (is_gauge) {
		write_gauge(w, figure);
		return;
	}
	buffer_char(w->out, '(');
	write_rate(w, figure);
	buffer_char(w->out, ')');
	write_two_samples(w);
}

/* ---- statistics ---- */

static uint64_t range_ms(const struct history_query *query)
{
	return (query->to_us - query->from_us) / 1000;
}

/* The parts of a long row whose means are averaged, so that a gap does not
 * count: a whole number of them, and of minutes. */
static uint64_t part_ms(const struct history_query *query)
{
	static const uint32_t minutes[] = { 1, 5, 15, 60, 360, 1440 };
	uint64_t step_ms = query->step_us / 1000;

	for (size_t i = 0; i < count_of(minutes); i++) {
		uint64_t ms = minutes[i] * minute_ms;

		if (ms < step_ms && step_ms % ms == 0 &&
			range_ms(query) / ms <= PARTS_MAX) {
			return ms;
		}
	}
	return step_ms;
}

/* )[window:resolution]), without the resolution's point before the window. */
static void end_subquery(struct buffer *out, uint64_t window_ms,
	uint64_t resolution_ms)
{
	buffer_printf(out, ")[%" PRIu64 "ms:%" PRIu64 "ms])", window_ms - 1,
		resolution_ms);
}

static void write_mean(struct writer *w,
	const struct history_query_field *field)
{
	const struct query_text *text = w->text;
	uint64_t step_ms = text->query->step_us / 1000;
	uint64_t ms = part_ms(text->query);

	w->of_total = "rate";
	w->of_gauge = "avg_over_time";
	w->over_pods = field->is_sum ? "sum" : "avg";
	w->total_ms = larger(ms, 4 * text->interval_us / 1000);
	w->gauge_ms = larger(ms, 6 * text->interval_us / 1000);
	if (ms < step_ms) {
		buffer_text(w->out, "avg_over_time((");
	}
	write_figure(w, field->figure);
	if (ms < step_ms) {
		end_subquery(w->out, step_ms, ms);
	}
}

/* Figures of single intervals, at this resolution. */
static uint64_t set_intervals(struct writer *w, size_t figure)
{
	const struct history_query *query = w->text->query;
	uint64_t interval_ms = w->text->interval_us / 1000;
	bool is_contention = figure ==
		(query->is_vm ? (size_t)ROLLUP_VM_contention
			      : (size_t)ROLLUP_cpu_contention);
	uint64_t ms = larger(larger(interval_ms, second_ms),
		range_ms(query) /
			(is_contention ? CONTENTION_POINTS_MAX : POINTS_MAX));

	ms = (ms + second_ms - 1) / second_ms * second_ms;
	w->of_total = "irate";
	w->of_gauge = "last_over_time";
	w->over_pods = "max";
	w->total_ms = larger(stale_ms, 3 * interval_ms);
	w->gauge_ms = larger(stale_ms, 6 * interval_ms);
	return ms < query->step_us / 1000 ? ms : query->step_us / 1000;
}

static void write_max(struct writer *w, const struct history_query_field *field)
{
	uint64_t ms = set_intervals(w, field->figure);

	buffer_text(w->out, "max_over_time((");
	write_figure(w, field->figure);
	end_subquery(w->out, w->text->query->step_us / 1000, ms);
}

static void write_p95(struct writer *w, const struct history_query_field *field)
{
	const struct history_query *query = w->text->query;
	uint64_t step_ms = query->step_us / 1000;
	uint64_t row_ms = history_query_tier_us(query->tier) / 1000;
	uint64_t ms = set_intervals(w, field->figure);

	if (row_ms < step_ms) {
		buffer_text(w->out, "max_over_time((");
	}
	buffer_text(w->out, "quantile_over_time(0.95, (");
	write_figure(w, field->figure);
	end_subquery(w->out, row_ms, ms < row_ms ? ms : row_ms);
	if (row_ms < step_ms) {
		end_subquery(w->out, step_ms, row_ms);
	}
}

/* ---- all ---- */

static bool is_value(const char *text)
{
	return text != NULL && text[0] != '\0' && label_flags_is_value(text);
}

bool query_text_can_match(const struct query_text *text)
{
	return text->node != NULL
		? is_value(text->node)
		: is_value(text->namespace) && is_value(text->name);
}

void query_text_field(struct buffer *out, const struct query_text *text,
	size_t field)
{
	const struct history_query_field *of = &text->query->fields[field];
	struct writer w = { .out = out, .text = text };

	if (of->stat == HISTORY_QUERY_MEAN) {
		write_mean(&w, of);
	} else if (of->stat == HISTORY_QUERY_MAX) {
		write_max(&w, of);
	} else {
		write_p95(&w, of);
	}
}

size_t query_text_fields(struct buffer *out, const struct query_text *text,
	size_t first, size_t most)
{
	size_t count = 0;
	size_t begin = out->len;

	while (count < most && first + count < text->query->field_count) {
		scoped_buffer struct buffer one =
			BUFFER_MAX((size_t)4 * QUERY_TEXT_BYTES_MAX);

		buffer_text(&one, count > 0 ? " or " : "");
		buffer_text(&one, "label_replace(");
		query_text_field(&one, text, first + count);
		buffer_printf(&one, ", \"%s\", \"%zu\", \"\", \"\")",
			query_text_label, first + count);
		if (count > 0 &&
			out->len - begin + one.len > QUERY_TEXT_BYTES_MAX) {
			break;
		}
		buffer_append(out, one.data, one.len);
		count++;
	}
	return count;
}

static void add_seconds(struct buffer *out, const char *key, uint64_t us)
{
	char text[48];

	(void)snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64,
		us / 1000000, us % 1000000);
	url_query_add(out, key, text);
}

/* The engine must not give a part of an answer without saying so, which are
 * parameters of Thanos and VictoriaMetrics, and not move the points, as
 * VictoriaMetrics does for its cache. Others ignore these. */
size_t query_text_form(struct buffer *out, const struct query_form *form)
{
	const struct history_query *of = form->text->query;
	scoped_buffer struct buffer expression =
		BUFFER_MAX((size_t)8 * QUERY_TEXT_BYTES_MAX);
	size_t count = query_text_fields(&expression, form->text, form->first,
		form->most);

	url_query_add(out, "query", expression.data);
	add_seconds(out, "start", of->from_us + of->step_us);
	add_seconds(out, "end", of->from_us + form->rows * of->step_us);
	add_seconds(out, "step", of->step_us);
	add_seconds(out, "timeout", form->timeout_us);
	url_query_add(out, "nocache", "1");
	url_query_add(out, "partial_response", "false");
	url_query_add(out, "deny_partial_response", "1");
	buffer_consume(out, 1); /* the question mark of a URL */
	return count;
}
