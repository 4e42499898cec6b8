#include "aggregator/http/metrics.h"

#include "aggregator/live/identity.h"
#include "aggregator/series/metric_names.h"
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/exposition.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

/* Work per turn of the event loop: some milliseconds. */
enum { TURN_NODES = 512, TURN_SAMPLES = 2048 };

/* More than a head and a line can take: a node's and a VM's names with each
 * byte escaped, and a pod's uid. */
enum { WRITTEN_MAX = 4096 };

struct metrics_node {
	struct node_load load;	       /* without VMs */
	size_t vms;		       /* VM pods with series */
	uint64_t certificate_expiry_s; /* 0: not known */
};

enum stage {
	STAGE_GATHER,
	STAGE_SELF,
	STAGE_AGES,
	STAGE_CERTIFICATES,
	STAGE_NODES,
	STAGE_VMS
};

struct metrics {
	struct metrics_options options;
	struct metrics_node *nodes;
	size_t count;
	size_t gathered; /* nodes whose figures are in nodes */
	size_t vms, vms_left_out;
	enum stage stage;
	size_t metric, node, vm; /* the next to write */
	const char *named;	 /* the metric of the last head */
};

/* ---- this process ---- */

static void write_states(struct buffer *out, const struct metrics *metrics)
{
	static const char name[] = "plimsoll_aggregator_nodes";
	size_t counts[LOAD_LOST + 1] = { 0 };

	for (size_t i = 0; i < metrics->count; i++) {
		const struct node_load *load = &metrics->nodes[i].load;

		counts[load_state(load->age_us, load->interval_ms)]++;
	}
	exposition_head(out, name, "Nodes that are fresh, stale or lost",
		EXPOSITION_GAUGE);
	for (int i = LOAD_FRESH; i <= LOAD_LOST; i++) {
		exposition_series(out, name, "state",
			load_state_name((enum load_state)i), (double)counts[i]);
	}
}

static void write_health(struct buffer *out, const struct metrics *metrics)
{
	exposition_process(out, metrics->options.self.started_us);
	write_states(out, metrics);
	exposition_single(out, "plimsoll_aggregator_vms",
		"VM pods on fresh nodes", EXPOSITION_GAUGE,
		(double)metrics->vms);
	exposition_single(out, "plimsoll_aggregator_vms_left_out",
		"VM pods omitted by --metrics-vms", EXPOSITION_GAUGE,
		(double)metrics->vms_left_out);
	metrics_self_write(out, &metrics->options.self);
}

/* ---- nodes and VMs ---- */

/* A node that was dropped since has the maximum age: lost. */
static bool is_fresh(const struct metrics_node *node)
{
	return load_state(node->load.age_us, node->load.interval_ms) ==
		LOAD_FRESH;
}

static void gather_names(struct metrics *metrics)
{
	const struct live *live = metrics->options.live;

	metrics->nodes = xcalloc(live_count(live), sizeof(*metrics->nodes));
	for (const struct live_node *node = live_after(live, 0); node != NULL;
		node = live_next(node)) {
		metrics->nodes[metrics->count].load.name =
			xstrdup(live_node_name(node));
		metrics->count++;
	}
}

static void gather_figures(struct metrics *metrics, struct metrics_node *node)
{
	const struct live_node *live =
		live_find(metrics->options.live, node->load.name);
	size_t left = metrics->options.vms_max -
		(metrics->vms - metrics->vms_left_out);
	size_t vms;

	if (live == NULL) {
		node->load.age_us = UINT64_MAX;
		return;
	}
	node_load_fini(&node->load);
	live_node_figures(&node->load, live, clock_monotonic_us());
	node->certificate_expiry_s = live_node_certificate_expiry_s(live);
	if (is_fresh(node)) {
		vms = live_node_vms(live);
		node->vms = vms < left ? vms : left;
		metrics->vms += vms;
		metrics->vms_left_out += vms - node->vms;
	}
}

/* The names are collected at once, because a report moves its node to the end
 * of the list. False: all nodes have their figures. */
static bool gather(struct metrics *metrics)
{
	if (metrics->nodes == NULL) {
		gather_names(metrics);
	}
	for (int i = 0; i < TURN_NODES; i++) {
		if (metrics->gathered >= metrics->count) {
			return false;
		}
		gather_figures(metrics, &metrics->nodes[metrics->gathered]);
		metrics->gathered++;
	}
	return true;
}

static void begin_sample(struct metrics *metrics, struct buffer *out,
	const struct metric *metric, const char *node)
{
	if (metrics->named == NULL ||
		strcmp(metrics->named, metric->name) != 0) {
		exposition_head(out, metric->name, metric->help,
			metric->is_counter ? EXPOSITION_COUNTER
					   : EXPOSITION_GAUGE);
		metrics->named = metric->name;
	}
	buffer_printf(out, "%s{", metric->name);
	exposition_label(out, "node", node);
}

static void write_sample(struct buffer *out, const struct metric_sample *sample)
{
	for (size_t i = 0; i < sample->label_count; i++) {
		exposition_label(out, sample->labels[i].key,
			sample->labels[i].value);
	}
	buffer_char(out, '}');
	exposition_value(out, sample->value);
}

static void write_node_sample(struct metrics *metrics, struct buffer *out,
	const struct metric *metric, const struct metrics_node *node)
{
	const struct live_node *live =
		live_find(metrics->options.live, node->load.name);
	struct metric_sample sample;

	if (live == NULL ||
		!metric_node_sample(&sample, metric, live_node_report(live),
			&node->load)) {
		return;
	}
	begin_sample(metrics, out, metric, node->load.name);
	write_sample(out, &sample);
}

static void write_vm_sample(struct metrics *metrics, struct buffer *out,
	const struct metric *metric, const struct metrics_node *node)
{
	const struct live_node *live =
		live_find(metrics->options.live, node->load.name);
	const struct identity *identity;
	struct metric_sample sample;
	const struct vm_pod *pod;
	struct vm_load load;

	if (live == NULL || metrics->vm >= live_node_vms(live)) {
		return;
	}
	pod = &live_node_report(live)->vms[metrics->vm];
	vm_load_init(&load);
	if (metric->from == METRIC_LOAD) {
		live_node_vm(&load, live, metrics->vm);
	}
	if (!metric_vm_sample(&sample, metric, pod, &load)) {
		return;
	}
	begin_sample(metrics, out, metric, node->load.name);
	exposition_label(out, "pod_uid", pod->pod_uid);
	identity = identities_find(metrics->options.identities, pod->pod_uid,
		node->load.name);
	if (identity != NULL) {
		exposition_label(out, "namespace", identity->namespace);
		exposition_label(out, "name", identity->name);
	}
	write_sample(out, &sample);
}

/* Writes a metric of the next node, or moves to the next metric. False: all are
 * written. */
static bool step_node(struct metrics *metrics, struct buffer *out)
{
	const struct metric *metric = metric_node_at(metrics->metric);

	if (metric == NULL) {
		return false;
	}
	if (metrics->node >= metrics->count) {
		metrics->node = 0;
		metrics->metric++;
		return true;
	}
	if (is_fresh(&metrics->nodes[metrics->node])) {
		write_node_sample(metrics, out, metric,
			&metrics->nodes[metrics->node]);
	}
	metrics->node++;
	return true;
}

/* The same for each VM of a node. */
static bool step_vm(struct metrics *metrics, struct buffer *out)
{
	const struct metric *metric = metric_vm_at(metrics->metric);
	const struct metrics_node *node;

	if (metric == NULL) {
		return false;
	}
	if (metrics->node >= metrics->count) {
		metrics->node = 0;
		metrics->metric++;
		return true;
	}
	node = &metrics->nodes[metrics->node];
	if (metrics->vm < node->vms) {
		write_vm_sample(metrics, out, metric, node);
		metrics->vm++;
		return true;
	}
	metrics->vm = 0;
	metrics->node++;
	return true;
}

static bool step_age(struct metrics *metrics, struct buffer *out)
{
	static const struct metric age = {
		.name = "plimsoll_node_age_seconds",
		.help = "Age of the newest sample; a node that is not fresh "
			"has no other series but its certificate's",
	};
	const struct node_load *load;

	if (metrics->node >= metrics->count) {
		return false;
	}
	load = &metrics->nodes[metrics->node].load;
	metrics->node++;
	if (load->age_us == UINT64_MAX) {
		return true;
	}
	begin_sample(metrics, out, &age, load->name);
	buffer_char(out, '}');
	exposition_value(out, (double)load->age_us / 1e6);
	return true;
}

/* Lost nodes too: an expired certificate may be why they are lost. */
static bool step_certificate(struct metrics *metrics, struct buffer *out)
{
	static const struct metric expiry = {
		.name = "plimsoll_node_certificate_expiry_timestamp_seconds",
		.help = "Unix time at which the certificate of the node's "
			"agent expires",
	};
	const struct metrics_node *node = &metrics->nodes[metrics->node];

	if (metrics->node >= metrics->count) {
		return false;
	}
	metrics->node++;
	if (node->certificate_expiry_s != 0) {
		begin_sample(metrics, out, &expiry, node->load.name);
		buffer_char(out, '}');
		exposition_value(out, (double)node->certificate_expiry_s);
	}
	return true;
}

/* ---- the stream ---- */

static bool run_stage(struct metrics *metrics, struct buffer *out,
	bool (*step)(struct metrics *metrics, struct buffer *out))
{
	for (int i = 0; i < TURN_SAMPLES; i++) {
		if (out->len > HTTPD_PART_MAX - WRITTEN_MAX) {
			return true;
		}
		if (!step(metrics, out)) {
			return false;
		}
	}
	return true;
}

/* False: the stage is done. */
static bool work(struct metrics *metrics, struct buffer *out)
{
	switch (metrics->stage) {
	case STAGE_GATHER:
		return gather(metrics);
	case STAGE_SELF:
		write_health(out, metrics);
		return false;
	case STAGE_AGES:
		return run_stage(metrics, out, step_age);
	case STAGE_CERTIFICATES:
		return run_stage(metrics, out, step_certificate);
	case STAGE_NODES:
		return run_stage(metrics, out, step_node);
	default:
		return run_stage(metrics, out, step_vm);
	}
}

static bool next(void *owner, struct buffer *out)
{
	struct metrics *metrics = owner;

	if (work(metrics, out)) {
		return true;
	}
	metrics->metric = metrics->node = metrics->vm = 0;
	if (metrics->stage == STAGE_VMS) {
		return false;
	}
	metrics->stage = (enum stage)(metrics->stage + 1);
	return true;
}

static void done(void *owner)
{
	struct metrics *metrics = owner;

	for (size_t i = 0; i < metrics->count; i++) {
		node_load_fini(&metrics->nodes[i].load);
	}
	free(metrics->nodes);
	free(metrics);
}

struct httpd_stream metrics_stream(const struct metrics_options *options)
{
	struct metrics *metrics = xcalloc(1, sizeof(*metrics));

	metrics->options = *options;
	return (struct httpd_stream){ next, done, metrics };
}
