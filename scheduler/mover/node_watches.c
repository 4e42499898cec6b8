#include "scheduler/mover/node_watches.h"

#include "lib/memory.h"

#include <math.h>
#include <stdlib.h>

/* The longest time for which one load speaks. */
#define GAP_S 60.0

struct node_watch {
	struct pressure_watch pressure;
	/* The mean use outside VMs, and the time for which it was observed. */
	double outside_cores, outside_s;
	int64_t sample_us; /* of the last load */
};

static void watch_free(struct node_watch *watch)
{
	pressure_watch_fini(&watch->pressure);
	free(watch);
}

static struct node_watch *watch_of(const struct node_watches *watches,
	const char *node)
{
	return watches == NULL ? NULL : map_get(&watches->by_name, node);
}

void node_watches_fini(struct node_watches *watches)
{
	size_t at = 0;
	void *value;

	while (map_next(&watches->by_name, &at, NULL, &value)) {
		watch_free(value);
	}
	map_fini(&watches->by_name);
}

static double outside_cores(const struct node_load *load)
{
	double cores = load->cpu_used_cores;

	for (size_t i = 0; i < load->vm_count; i++) {
		cores -= fmax(load->vms[i].used_cores, 0);
	}
	return cores;
}

/* Starts as the plain mean; older use fades. A gap is unknown, and the first
 * load speaks for little. */
static void note_outside(struct node_watch *watch, const struct node_load *load,
	int64_t sample_us)
{
	double seconds = (double)(sample_us - watch->sample_us) / 1e6;
	double cores = outside_cores(load);

	if (isnan(cores) || !(seconds > 0)) {
		return;
	}
	seconds = fmin(seconds, GAP_S);
	watch->sample_us = sample_us;
	watch->outside_s =
		fmin(watch->outside_s + seconds, NODE_WATCHES_OUTSIDE_S);
	watch->outside_cores +=
		seconds / watch->outside_s * (cores - watch->outside_cores);
}

void node_watches_note(struct node_watches *watches, const struct cache *cache,
	const struct node_load *load, int64_t sample_us)
{
	struct node_watch *watch = map_get(&watches->by_name, load->name);

	if (watch == NULL) {
		if (cache_node(cache, load->name) == NULL) {
			return;
		}
		watch = xcalloc(1, sizeof(*watch));
		(void)map_put(&watches->by_name, load->name, watch);
	}
	pressure_watch_note(&watch->pressure, load, sample_us);
	note_outside(watch, load, sample_us);
}

void node_watches_expire(struct node_watches *watches,
	const struct cache *cache)
{
	const char *name;
	size_t at = 0;
	void *value;

	while (map_next(&watches->by_name, &at, &name, &value)) {
		if (cache_node(cache, name) == NULL) {
			watch_free(map_remove(&watches->by_name, name));
		}
	}
}

void node_watches_restart(struct node_watches *watches, const char *node,
	int64_t now_us)
{
	struct node_watch *watch = watch_of(watches, node);

	if (watch != NULL) {
		pressure_watch_restart(&watch->pressure, now_us);
	}
}

const struct pressure_watch *node_watches_find(
	const struct node_watches *watches, const char *node)
{
	const struct node_watch *watch = watch_of(watches, node);

	return watch == NULL ? NULL : &watch->pressure;
}

double node_watches_outside_vms(const struct node_watches *watches,
	const char *node)
{
	const struct node_watch *watch = watch_of(watches, node);

	return watch != NULL && watch->outside_s > 0 ? watch->outside_cores
						     : NAN;
}

bool node_watches_is_sustained(const struct node_watches *watches,
	const char *node, int64_t now_us)
{
	const struct pressure_watch *watch = node_watches_find(watches, node);

	for (int reason = 0; watch != NULL && reason < MOVE_REASONS; reason++) {
		if (pressure_watch_is_sustained(watch, (enum move_reason)reason,
			    now_us)) {
			return true;
		}
	}
	return false;
}
