#include "scheduler/mover/reach.h"

#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "scheduler/cache/cache.h"
#include "scheduler/filter/filter.h"
#include "scheduler/filter/standing.h"
#include "scheduler/filter/volume_places.h"
#include "scheduler/kubevirt/kubevirt.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The names of half a million VMs. */
enum {
	TICK_MS = 1000,
	TEXTS_MAX = 256 << 20,
	SHAPE_MAX = 64 << 10,
	WHY_MAX = 1024,
};

struct reach_row {
	size_t name; /* its offset in the texts */
	unsigned nodes;
};

/* A look at all VMs. */
struct look {
	struct buffer texts; /* names, each with its NUL */
	struct reach_row *rows;
	size_t count, capacity;
	size_t stranded;
	char *misplaced[REACH_MISPLACED_MAX]; /* uids of pods, owned */
	size_t misplaced_count;
};

struct reach {
	struct reach_options options;
	struct timer *tick, *slice;
	struct look last, next;
	bool is_known, is_looking;
	size_t node, vm;   /* the next VM */
	struct map shapes; /* what a pod asks for -> its nodes, as unsigned */
	struct prefilter prefilter;
	struct standing standing;
	size_t at;	     /* the VM's number in this look */
	size_t counted_from; /* other pods are counted for VMs from here on */
	size_t counted_to;   /* and up to here; SIZE_MAX: not known yet */
	int64_t counts_us;
	int64_t work_us, last_work_us, due_us, longest_us;
};

/* ---- a look ---- */

static void clear_look(struct look *look)
{
	buffer_clear(&look->texts);
	look->count = 0;
	look->stranded = 0;
	while (look->misplaced_count > 0) {
		free(look->misplaced[--look->misplaced_count]);
	}
}

static void fini_look(struct look *look)
{
	clear_look(look);
	buffer_fini(&look->texts);
	free(look->rows);
}

static void add_row(struct look *look, const struct vmi *vmi, unsigned nodes)
{
	size_t name = look->texts.len;

	buffer_printf(&look->texts, "%s/%s", vmi->namespace, vmi->name);
	buffer_char(&look->texts, '\0');
	if (look->texts.overflowed) {
		return;
	}
	look->rows = xgrow(look->rows, look->count, &look->capacity,
		sizeof(*look->rows));
	look->rows[look->count++] =
		(struct reach_row){ .name = name, .nodes = nodes };
	look->stranded += nodes == 0;
}

static void clear_shapes(struct reach *reach)
{
	size_t at = 0;
	void *value;

	while (map_next(&reach->shapes, &at, NULL, &value)) {
		free(value);
	}
	map_fini(&reach->shapes);
}

/* ---- a VM ---- */

/* All that filter_empty_node() reads of a target pod. Equal sets of labels may
 * differ in their order, which costs one more look. */
static void write_shape(struct buffer *out, const struct next_pod *next)
{
	const struct pod *pod = &next->pod;
	const struct resources *r = &pod->requests;
	const struct labels *selector = &pod->node_selector;

	buffer_printf(out, "%x %x %d %jx %jx %jx", next->parts->parts,
		pod->features, pod->requests_kvm, (uintmax_t)r->cpu_milli,
		(uintmax_t)r->memory_bytes, (uintmax_t)r->ephemeral_bytes);
	for (size_t i = 0; i < r->scalar_count; i++) {
		buffer_printf(out, " %x:%jx", r->scalars[i].resource,
			(uintmax_t)r->scalars[i].value);
	}
	for (size_t i = 0; i < labels_slot_count(selector); i++) {
		if (selector->slots[i].key != 0) {
			buffer_printf(out, " %x=%x", selector->slots[i].key,
				selector->slots[i].value);
		}
	}
}

static bool is_open(const struct reach *reach, const struct node *node,
	int64_t now_us)
{
	return filter_empty_node(&reach->prefilter, node, now_us) == 0;
}

static unsigned count_open(const struct reach *reach, int64_t now_us)
{
	const struct cluster *cluster = &reach->options.cache->cluster;
	unsigned count = 0;

	for (size_t i = 0; i < cluster->count; i++) {
		count += is_open(reach, cluster->nodes[i], now_us);
	}
	return count;
}

/* Nodes that are open for the prepared pod, its own included. */
static unsigned open_nodes(struct reach *reach, const struct next_pod *next,
	int64_t now_us)
{
	scoped_buffer struct buffer shape = BUFFER_MAX(SHAPE_MAX);
	unsigned *known;

	write_shape(&shape, next);
	volume_places_write(&shape, &reach->prefilter.volumes);
	if (shape.overflowed) {
		return count_open(reach, now_us);
	}
	known = map_get(&reach->shapes, shape.data);
	if (known == NULL) {
		known = xcalloc(1, sizeof(*known));
		*known = count_open(reach, now_us);
		(void)map_put(&reach->shapes, shape.data, known);
	}
	return *known;
}

/* A pod that is refused everywhere is one that plimsoll cannot judge. */
static void look_at_next(struct reach *reach, const struct vmi *vmi,
	const struct next_pod *next, const struct node *node, int64_t now_us)
{
	unsigned nodes;

	prefilter_run_alone(&reach->prefilter, &next->pod,
		&reach->options.cache->cluster);
	if (reach->prefilter.refusal != NULL) {
		return;
	}
	nodes = open_nodes(reach, next, now_us);
	add_row(&reach->next, vmi, nodes - is_open(reach, node, now_us));
}

/* ---- where it may not stand ---- */

static bool was_misplaced(const struct reach *reach, const char *uid)
{
	for (size_t i = 0; i < reach->last.misplaced_count; i++) {
		if (strcmp(reach->last.misplaced[i], uid) == 0) {
			return true;
		}
	}
	return false;
}

/* A look counts for as many VMs as the time allows, in turn. */
static bool may_count(struct reach *reach)
{
	if (reach->counts_us >= REACH_COUNTS_US &&
		reach->at < reach->counted_to) {
		reach->counted_to = reach->at;
	}
	return reach->at >= reach->counted_from &&
		reach->at < reach->counted_to;
}

static bool is_misplaced_by_counts(struct reach *reach,
	const struct next_pod *next, const struct pod_on_node *running)
{
	int64_t began_us = (int64_t)clock_monotonic_us();
	bool is_misplaced =
		standing_prepare(&reach->standing,
			&reach->options.cache->cluster, &next->pod, running) &&
		standing_by_counts(&reach->standing, running->node) != 0;

	reach->counts_us += (int64_t)clock_monotonic_us() - began_us;
	return is_misplaced;
}

static bool is_misplaced(struct reach *reach, const struct next_pod *next,
	const struct pod_on_node *running)
{
	if (standing_by_rules(&next->pod, running->node) != 0) {
		return true;
	}
	if (!standing_needs_counts(&next->pod)) {
		return false;
	}
	return may_count(reach) ? is_misplaced_by_counts(reach, next, running)
				: was_misplaced(reach, running->pod->uid);
}

static void look_at_standing(struct reach *reach, const struct next_pod *next,
	const struct pod_on_node *running)
{
	struct look *look = &reach->next;

	if (is_misplaced(reach, next, running) &&
		look->misplaced_count < REACH_MISPLACED_MAX) {
		look->misplaced[look->misplaced_count++] =
			xstrdup(running->pod->uid);
	}
}

/* The next look begins to count where this one ended, or at the first VM. */
static void end_counts(struct reach *reach)
{
	reach->counted_from =
		reach->counted_to < reach->at ? reach->counted_to : 0;
}

static void look_at(struct reach *reach, const struct pod *pod,
	const struct node *node, int64_t now_us)
{
	scoped_buffer struct buffer why = BUFFER_MAX(WHY_MAX);
	const struct vmi *vmi = kubevirt_vmi_of(reach->options.kubevirt, pod);
	struct next_pod next;

	if (vmi == NULL || !vmi->is_running ||
		strcmp(vmi->node, node->name) != 0) {
		return;
	}
	if (kubevirt_next_pod(reach->options.kubevirt, &next, pod,
		    &node->labels, &why)) {
		look_at_next(reach, vmi, &next, node, now_us);
		look_at_standing(reach, &next,
			&(const struct pod_on_node){ pod, node });
	}
	reach->at++;
	next_pod_fini(&next);
}

/* ---- slices ---- */

/* False: there is no VM left. A VM that changes its node meanwhile may be
 * missing or counted twice. */
static bool step(struct reach *reach, int64_t now_us)
{
	const struct cluster *cluster = &reach->options.cache->cluster;
	const struct node *node;
	const struct pod *pod;

	if (reach->node >= cluster->count) {
		return false;
	}
	node = cluster->nodes[reach->node];
	if (reach->vm >= node->vms.count) {
		reach->node++;
		reach->vm = 0;
		return true;
	}
	pod = cache_pod(reach->options.cache, node->vms.list[reach->vm++].uid);
	if (pod != NULL && !pod->is_target && pod->original == NULL) {
		look_at(reach, pod, node, now_us);
	}
	return true;
}

static void end_look(struct reach *reach, int64_t now_us)
{
	struct look old = reach->last;
	int64_t rest_us = REACH_PART * reach->work_us;

	end_counts(reach);
	reach->last = reach->next;
	reach->next = old;
	reach->last_work_us = reach->work_us;
	reach->is_known = true;
	reach->is_looking = false;
	reach->due_us =
		now_us + (rest_us > REACH_EVERY_US ? rest_us : REACH_EVERY_US);
	clear_look(&reach->next);
	clear_shapes(reach);
}

static void on_slice(void *owner)
{
	struct reach *reach = owner;
	int64_t began_us = (int64_t)clock_monotonic_us();
	int64_t spent_us = 0;
	bool has_more = true;

	while (has_more && spent_us < REACH_SLICE_US) {
		has_more = step(reach, began_us);
		spent_us = (int64_t)clock_monotonic_us() - began_us;
	}
	reach->work_us += spent_us;
	if (spent_us > reach->longest_us) {
		reach->longest_us = spent_us;
	}
	if (has_more) {
		timer_start(reach->slice, 0, 0);
	} else {
		end_look(reach, began_us + spent_us);
	}
}

static void begin_look(struct reach *reach)
{
	reach->is_looking = true;
	reach->node = reach->vm = reach->at = 0;
	reach->counted_to = SIZE_MAX;
	reach->work_us = reach->counts_us = 0;
	timer_start(reach->slice, 0, 0);
}

static void forget(struct reach *reach)
{
	timer_stop(reach->slice);
	reach->is_known = reach->is_looking = false;
	reach->due_us = 0;
	reach->counted_from = 0;
	clear_look(&reach->last);
	clear_look(&reach->next);
	clear_shapes(reach);
}

static void on_tick(void *owner)
{
	struct reach *reach = owner;

	if (!reach->options.is_ready(reach->options.owner)) {
		forget(reach);
	} else if (!reach->is_looking &&
		(int64_t)clock_monotonic_us() >= reach->due_us) {
		begin_look(reach);
	}
}

/* ---- others ---- */

void reach_stats(const struct reach *reach, struct reach_stats *out)
{
	*out = (struct reach_stats){ .is_known = reach->is_known,
		.count = reach->last.count,
		.stranded = reach->last.stranded,
		.misplaced = reach->last.misplaced_count,
		.work_s = (double)reach->last_work_us / 1e6,
		.longest_slice_s = (double)reach->longest_us / 1e6 };
}

const char *reach_vm(const struct reach *reach, size_t i, unsigned *nodes)
{
	const struct reach_row *row = &reach->last.rows[i];

	*nodes = row->nodes;
	return reach->last.texts.data + row->name;
}

const char *reach_misplaced(const struct reach *reach, size_t i)
{
	return reach->last.misplaced[i];
}

struct reach *reach_new(const struct reach_options *options)
{
	struct reach *reach = xcalloc(1, sizeof(*reach));

	reach->options = *options;
	reach->slice = timer_new(options->loop, on_slice, reach);
	reach->tick = timer_new(options->loop, on_tick, reach);
	timer_start(reach->tick, TICK_MS, TICK_MS);
	reach->last.texts = BUFFER_MAX(TEXTS_MAX);
	reach->next.texts = BUFFER_MAX(TEXTS_MAX);
	return reach;
}

void reach_close(struct reach *reach)
{
	if (reach == NULL) {
		return;
	}
	timer_close(reach->tick);
	timer_close(reach->slice);
	fini_look(&reach->last);
	fini_look(&reach->next);
	clear_shapes(reach);
	prefilter_fini(&reach->prefilter);
	standing_fini(&reach->standing);
	free(reach);
}
