#include "aggregator/http/load_watcher.h"

#include "lib/json.h"
#include "lib/memory.h"

#include <math.h>
#include <stdio.h>

/* The window that Trimaran requests. */
enum { WINDOW_S = 900 };

/* A node with an unknown CPU use would be scored by its memory alone. */
static bool is_included(const struct node_load *load)
{
	return load_state(load->age_us, load->interval_ms) == LOAD_FRESH &&
		isfinite(load->cpu_used_cores_15m / load->cpu_cores);
}

static void write_metric(struct json *j, const char *type, const char *operator,
	double part, double whole)
{
	double percent = 100 * part / whole;
	char text[40];

	if (!isfinite(percent)) {
		return;
	}
	percent = percent < 0 ? 0 : percent;
	(void)snprintf(text, sizeof(text), "%.6f",
		percent > 100 ? 100 : percent);
	json_object(j, NULL);
	json_string(j, "name", "");
	json_string(j, "type", type);
	json_string(j, "operator", operator);
	json_string(j, "rollup", "15m");
	json_raw(j, "value", text);
	json_object_end(j);
}

static void write_node(struct json *j, const struct node_load *load)
{
	json_object(j, load->name);
	json_array(j, "metrics");
	write_metric(j, "CPU", "STD", load->cpu_stdev_cores_15m,
		load->cpu_cores);
	write_metric(j, "CPU", "AVG", load->cpu_used_cores_15m,
		load->cpu_cores);
	write_metric(j, "Memory", "STD", load->memory_stdev_bytes_15m,
		load->memory_total_bytes);
	write_metric(j, "Memory", "AVG", load->memory_used_bytes_15m,
		load->memory_total_bytes);
	json_array_end(j);
	json_object(j, "tags");
	json_object_end(j);
	json_object(j, "metadata");
	json_string(j, "dataCenter", "");
	json_object_end(j);
	json_object_end(j);
}

struct included {
	size_t count;
	uint64_t least_age_us;
};

static void add_node(struct included *included, struct json *j,
	const struct live_node *node, uint64_t now_us)
{
	struct node_load load;

	live_node_figures(&load, node, now_us);
	if (is_included(&load)) {
		write_node(j, &load);
		if (included->count == 0 ||
			load.age_us < included->least_age_us) {
			included->least_age_us = load.age_us;
		}
		included->count++;
	}
	node_load_fini(&load);
}

static struct included write_nodes(struct json *j, const struct live *live,
	const char *host, uint64_t now_us)
{
	const struct live_node *one =
		host == NULL ? NULL : live_find(live, host);
	struct included included = { 0 };

	json_object(j, NULL);
	if (one != NULL) {
		add_node(&included, j, one, now_us);
	}
	for (const struct live_node *node = host == NULL ? live_after(live, 0)
							 : NULL;
		node != NULL; node = live_next(node)) {
		add_node(&included, j, node, now_us);
	}
	json_object_end(j);
	return included;
}

static void write_window(struct json *j, uint64_t end_s)
{
	json_object(j, "window");
	json_string(j, "duration", "15m");
	json_unsigned(j, "start", end_s > WINDOW_S ? end_s - WINDOW_S : 0);
	json_unsigned(j, "end", end_s);
	json_object_end(j);
}

bool load_watcher_write(struct buffer *out, const struct live *live,
	const char *host, uint64_t now_us, uint64_t wall_us)
{
	scoped_buffer struct buffer nodes = BUFFER_MAX(out->max);
	struct json inner = json_into(&nodes);
	struct json j = json_into(out);
	struct included included = write_nodes(&inner, live, host, now_us);

	if (host != NULL && included.count == 0) {
		return false;
	}
	json_object(&j, NULL);
	json_unsigned(&j, "timestamp", wall_us / 1000000);
	write_window(&j, (wall_us - included.least_age_us) / 1000000);
	json_string(&j, "source", "plimsoll");
	json_object(&j, "data");
	json_raw(&j, "NodeMetricsMap", nodes.data);
	json_object_end(&j);
	json_object_end(&j);
	buffer_char(out, '\n');
	out->overflowed |= nodes.overflowed;
	return true;
}
