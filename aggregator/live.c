#include "aggregator/live.h"

#include "aggregator/identity.h"
#include "aggregator/rates.h"
#include "aggregator/series.h"
#include "aggregator/sketch.h"
#include "aggregator/window.h"
#include "lib/map.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Slot widths follow the windows read from them: 10 s; 60 s, 5 min and 15 min;
 * 1 h. One slot more than a window has, for the one its far edge cuts. */
static const uint64_t second_us = 1000000;
enum { FAST_S = 1, FAST_SLOTS = 11 };
enum { MIDDLE_S = 10, MIDDLE_SLOTS = 91, MINUTE_SLOTS = 7 };
enum { SLOW_S = 60, SLOW_SLOTS = 61 };
/* Percentiles: 1 h in slots of 5 min, 1 d in slots of 1 h. */
enum { HOUR_SLOT_S = 300, HOUR_SLOTS = 13 };
enum { DAY_SLOT_S = 3600, DAY_SLOTS = 25 };

struct live_node {
	const struct live *live;
	char *name;
	uint64_t revision;
	struct live_node *older, *newer; /* by revision */
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	struct report newest;
	int64_t at_us; /* when newest was taken, on our clock */
	struct node_rates rates;
	struct series series;
	/* Windows run on the agent's monotonic clock: network delays do not
	 * shift it, and it starts anew with the counters. */
	struct window cores_fast, cores_middle, cores_slow;
	struct window pressure, memory_used;
	struct sketch cores_hour, cores_day;
	/* From here to the newest sample the windows know everything of this
	 * run; a backlog may fill what lies before. */
	uint64_t covered_from_us;
	struct report backlog; /* the last one used for that, without VMs */
};

struct live {
	uint64_t epoch, revision;
	struct map nodes;
	struct live_node *oldest, *newest;
	const struct identities *identities; /* or NULL */
};

struct live *live_new(uint64_t epoch, const struct identities *identities)
{
	struct live *live = xcalloc(1, sizeof(*live));

	live->epoch = epoch;
	live->identities = identities;
	return live;
}

static void node_free(struct live_node *node)
{
	report_fini(&node->newest);
	report_fini(&node->backlog);
	series_fini(&node->series);
	window_fini(&node->cores_fast);
	window_fini(&node->cores_middle);
	window_fini(&node->cores_slow);
	window_fini(&node->pressure);
	window_fini(&node->memory_used);
	sketch_fini(&node->cores_hour);
	sketch_fini(&node->cores_day);
	free(node->name);
	free(node);
}

void live_free(struct live *live)
{
	struct live_node *node;

	if (live == NULL) {
		return;
	}
	node = live->oldest;
	while (node != NULL) {
		struct live_node *next = node->newer;

		node_free(node);
		node = next;
	}
	map_fini(&live->nodes);
	free(live);
}

static struct live_node *node_new(const struct live *live, const char *name)
{
	struct live_node *node = xcalloc(1, sizeof(*node));

	node->live = live;
	node->name = xstrdup(name);
	report_init(&node->newest);
	report_init(&node->backlog);
	window_init(&node->cores_fast, FAST_S * second_us, FAST_SLOTS);
	window_init(&node->cores_middle, MIDDLE_S * second_us, MIDDLE_SLOTS);
	window_init(&node->cores_slow, SLOW_S * second_us, SLOW_SLOTS);
	window_init(&node->pressure, MIDDLE_S * second_us, MINUTE_SLOTS);
	window_init(&node->memory_used, MIDDLE_S * second_us, MIDDLE_SLOTS);
	sketch_init(&node->cores_hour, HOUR_SLOT_S * second_us, HOUR_SLOTS);
	sketch_init(&node->cores_day, DAY_SLOT_S * second_us, DAY_SLOTS);
	return node;
}

static void list_remove(struct live *live, struct live_node *node)
{
	*(node->older == NULL ? &live->oldest : &node->older->newer) =
		node->newer;
	*(node->newer == NULL ? &live->newest : &node->newer->older) =
		node->older;
	node->older = NULL;
	node->newer = NULL;
}

static void list_append(struct live *live, struct live_node *node)
{
	node->older = live->newest;
	*(live->newest == NULL ? &live->oldest : &live->newest->newer) = node;
	live->newest = node;
}

uint64_t live_node_age_us(const struct live_node *node, uint64_t now_us)
{
	int64_t age = (int64_t)now_us - node->at_us;

	return age > 0 ? (uint64_t)age : 0;
}

/* Makes room by forgetting the node that was silent longest. */
static int make_room(struct live *live, uint64_t now_us, struct error *err)
{
	struct live_node *oldest = live->oldest;

	if (live->nodes.count < LIVE_NODES_MAX) {
		return 0;
	}
	if (load_state(live_node_age_us(oldest, now_us),
		    oldest->newest.interval_ms) != LOAD_LOST) {
		return error_set(err, -ENOSPC,
			"there are %d nodes already, no more are taken",
			LIVE_NODES_MAX);
	}
	(void)map_remove(&live->nodes, oldest->name);
	list_remove(live, oldest);
	node_free(oldest);
	return 0;
}

static double memory_used(const struct report *report)
{
	const struct memory *memory = &report->memory;

	if (memory->state != SOURCE_PRESENT ||
		memory->total_bytes == REPORT_UNKNOWN ||
		memory->available_bytes == REPORT_UNKNOWN ||
		memory->available_bytes > memory->total_bytes) {
		return NAN;
	}
	return (double)(memory->total_bytes - memory->available_bytes);
}

static void clear_windows(struct live_node *node)
{
	window_clear(&node->cores_fast);
	window_clear(&node->cores_middle);
	window_clear(&node->cores_slow);
	window_clear(&node->pressure);
	window_clear(&node->memory_used);
	sketch_clear(&node->cores_hour);
	sketch_clear(&node->cores_day);
}

static void add_to_windows(struct live_node *node, const struct report *before,
	const struct report *after, const struct node_rates *rates)
{
	uint64_t from_us = before->monotonic_us;
	uint64_t to_us = after->monotonic_us;

	window_add(&node->cores_fast, from_us, to_us, rates->used_cores);
	window_add(&node->cores_middle, from_us, to_us, rates->used_cores);
	window_add(&node->cores_slow, from_us, to_us, rates->used_cores);
	window_add(&node->pressure, from_us, to_us, rates->cpu_some);
	window_add(&node->memory_used, from_us, to_us, memory_used(after));
	if (after->cpu.online > 0) {
		sketch_add(&node->cores_hour, from_us, to_us, rates->used_cores,
			after->cpu.online);
		sketch_add(&node->cores_day, from_us, to_us, rates->used_cores,
			after->cpu.online);
	}
}

static bool same_run(const struct live_node *node,
	const struct live_sample *sample)
{
	return memcmp(node->run_id, sample->run_id, REPORT_RUN_ID_BYTES) == 0;
}

static bool same_boot(const struct live_node *node,
	const struct live_sample *sample)
{
	return strcmp(node->newest.boot_id, sample->report->boot_id) == 0;
}

/* What one process sent its own clock orders, without the network's delays;
 * else ours does: a clock that ran ahead goes with the process that had it. */
static bool is_newer(const struct live_node *node,
	const struct live_sample *sample)
{
	if (same_boot(node, sample) && same_run(node, sample)) {
		return sample->report->monotonic_us > node->newest.monotonic_us;
	}
	return sample->at_us > node->at_us;
}

/* The report becomes the node's. */
static void set_newest(struct live_node *node, const struct live_sample *sample,
	struct report *report)
{
	report_fini(&node->newest);
	node->newest = *report;
	memcpy(node->run_id, sample->run_id, REPORT_RUN_ID_BYTES);
	node->at_us = sample->at_us;
}

static void without_vms(struct report *report)
{
	report->vms = NULL;
	report->vm_count = 0;
}

/* What is between reports so far apart is not known, and may still come. */
static bool is_gap(const struct report *before, const struct report *after)
{
	uint32_t interval_ms = before->interval_ms > after->interval_ms
		? before->interval_ms
		: after->interval_ms;

	return load_state(rates_span_us(before, after), interval_ms) !=
		LOAD_FRESH;
}

/* From here on the windows know everything. A backlog goes on where they knew
 * everything up to: before, or from its own first report on. */
static void begin_cover(struct live_node *node, const struct report *before,
	const struct report *after)
{
	node->covered_from_us = after->monotonic_us;
	node->backlog = *before;
	without_vms(&node->backlog);
}

/* A sample of another run or boot, or after a gap, begins anew: there are no
 * rates to it. */
static void take_newest(struct live_node *node,
	const struct live_sample *sample)
{
	const struct report *after = sample->report;
	const struct report *before = &node->newest;
	bool is_boot_continued = node->revision > 0 &&
		same_boot(node, sample) &&
		after->monotonic_us > before->monotonic_us;
	bool is_run_continued = is_boot_continued && same_run(node, sample);
	bool is_continued = is_run_continued && !is_gap(before, after);
	struct report nothing, kept;
	scoped_free struct vm_rates *vms =
		xcalloc(after->vm_count, sizeof(*vms));

	report_init(&nothing);
	if (!is_boot_continued) {
		clear_windows(node);
	}
	rates_between(&node->rates, vms, is_continued ? before : &nothing,
		after);
	report_copy(&kept, after);
	series_move(&node->series, before, &kept, vms, is_boot_continued);
	if (is_continued) {
		add_to_windows(node, before, after, &node->rates);
	} else {
		begin_cover(node, is_run_continued ? before : &nothing, after);
	}
	set_newest(node, sample, &kept);
}

/* A late one of the present run from before what the windows know. Backlogs
 * come in order; what does not is left to the store. */
static void take_backlog(struct live_node *node,
	const struct live_sample *sample)
{
	const struct report *after = sample->report;
	struct report *before = &node->backlog;
	struct node_rates rates;

	if (!same_run(node, sample) || !same_boot(node, sample) ||
		after->monotonic_us > node->covered_from_us ||
		after->monotonic_us <= before->monotonic_us) {
		return;
	}
	rates_between(&rates, NULL, before, after);
	if (before->seq > 0 && rates_span_us(before, after) > 0 &&
		!is_gap(before, after)) {
		add_to_windows(node, before, after, &rates);
	}
	*before = *after;
	without_vms(before);
}

int live_take(struct live *live, const struct live_sample *sample,
	uint64_t now_us, struct error *err)
{
	struct live_node *node = map_get(&live->nodes, sample->node);
	int r;

	if (node != NULL && !is_newer(node, sample)) {
		take_backlog(node, sample);
		return 0;
	}
	if (node == NULL) {
		r = make_room(live, now_us, err);
		if (r < 0) {
			return r;
		}
		node = node_new(live, sample->node);
		(void)map_put(&live->nodes, node->name, node);
	} else {
		list_remove(live, node);
	}
	take_newest(node, sample);
	node->revision = ++live->revision;
	list_append(live, node);
	return 0;
}

uint64_t live_epoch(const struct live *live)
{
	return live->epoch;
}

uint64_t live_revision(const struct live *live)
{
	return live->revision;
}

size_t live_count(const struct live *live)
{
	return live->nodes.count;
}

struct live_node *live_find(const struct live *live, const char *name)
{
	return map_get(&live->nodes, name);
}

const struct live_node *live_after(const struct live *live, uint64_t revision)
{
	const struct live_node *first = NULL;

	for (const struct live_node *node = live->newest;
		node != NULL && node->revision > revision; node = node->older) {
		first = node;
	}
	return first;
}

const struct live_node *live_next(const struct live_node *node)
{
	return node->newer;
}

const char *live_node_name(const struct live_node *node)
{
	return node->name;
}

uint64_t live_node_revision(const struct live_node *node)
{
	return node->revision;
}

size_t live_node_vms(const struct live_node *node)
{
	return node->newest.vm_count;
}

uint32_t live_node_interval_ms(const struct live_node *node)
{
	return node->newest.interval_ms;
}

static void fill_windows(struct node_load *out, const struct live_node *node)
{
	uint64_t now_us = node->newest.monotonic_us;
	struct window_figures of;

	out->cpu_used_cores_10s =
		window_read(&node->cores_fast, now_us, 10 * second_us).mean;
	of = window_read(&node->cores_middle, now_us, 300 * second_us);
	out->cpu_used_cores_5m = of.mean;
	out->cpu_stdev_cores_5m = of.stdev;
	of = window_read(&node->cores_middle, now_us, 900 * second_us);
	out->cpu_used_cores_15m = of.mean;
	out->cpu_stdev_cores_15m = of.stdev;
	of = window_read(&node->cores_slow, now_us, 3600 * second_us);
	out->cpu_used_cores_1h = of.mean;
	out->cpu_stdev_cores_1h = of.stdev;
	out->cpu_p95_cores_1h =
		sketch_read(&node->cores_hour, now_us, 3600 * second_us, 0.95);
	out->cpu_p95_cores_1d =
		sketch_read(&node->cores_day, now_us, 86400 * second_us, 0.95);
	out->cpu_pressure_some_60s =
		window_read(&node->pressure, now_us, 60 * second_us).mean;
	of = window_read(&node->memory_used, now_us, 900 * second_us);
	out->memory_used_bytes_15m = of.mean;
	out->memory_stdev_bytes_15m = of.stdev;
}

const struct report *live_node_report(const struct live_node *node)
{
	return &node->newest;
}

void live_node_figures(struct node_load *out, const struct live_node *node,
	uint64_t now_us)
{
	const struct report *report = &node->newest;

	node_load_init(out);
	out->name = xstrdup(node->name);
	out->age_us = live_node_age_us(node, now_us);
	out->interval_ms = report->interval_ms;
	out->kvm_state = report->kvm.state;
	(void)kvm_detail(out->kvm_detail, &report->kvm);
	out->hugepages_count = report->hugepages_count;
	memcpy(out->hugepages, report->hugepages, sizeof(out->hugepages));
	rates_fill_load(out, report, &node->rates);
	fill_windows(out, node);
}

void live_node_vm(struct vm_load *out, const struct live_node *node, size_t i)
{
	series_fill(out, &node->series, &node->newest, i);
}

static void name_vm(struct vm_load *vm, const struct identities *identities)
{
	const struct identity *who = identities_find(identities, vm->pod_uid);

	if (who != NULL) {
		vm->namespace = xstrdup(who->namespace);
		vm->name = xstrdup(who->name);
	}
}

void live_node_load(struct node_load *out, const struct live_node *node,
	uint64_t now_us)
{
	live_node_figures(out, node, now_us);
	out->vm_count = node->newest.vm_count;
	out->vms = xcalloc(out->vm_count, sizeof(*out->vms));
	for (size_t i = 0; i < out->vm_count; i++) {
		live_node_vm(&out->vms[i], node, i);
		name_vm(&out->vms[i], node->live->identities);
	}
}
