#include "simulate/simulated_pressure.h"

#include <stdlib.h>

#include "lib/memory.h"

struct simulated_pressure {
	struct pressure_watch *watches; /* owned; by the scenario's nodes */
	size_t count;
	/* For the search. */
	const struct fleet *fleet;
	struct simulated_filters filters;
};

struct simulated_pressure *simulated_pressure_new(
	const struct simulated_world *world)
{
	const struct scenario *scenario = world->scenario;
	struct simulated_pressure *p;

	if (!scenario->has_memory_use) {
		return NULL;
	}
	p = xcalloc(1, sizeof(*p));
	p->count = scenario->node_count;
	p->watches = xcalloc(p->count + 1, sizeof(*p->watches));
	return p;
}

void simulated_pressure_free(struct simulated_pressure *pressure)
{
	if (pressure == NULL) {
		return;
	}
	for (size_t i = 0; i < pressure->count; i++) {
		pressure_watch_fini(&pressure->watches[i]);
	}
	free(pressure->watches);
	free(pressure);
}

void simulated_pressure_note(struct simulated_pressure *pressure, size_t node,
	const struct node_load *load, int64_t now_us)
{
	if (pressure != NULL) {
		pressure_watch_note(&pressure->watches[node], load, now_us);
	}
}

void simulated_pressure_moved(struct simulated_pressure *pressure, size_t node,
	int64_t now_us)
{
	if (pressure != NULL) {
		pressure_watch_restart(&pressure->watches[node], now_us);
	}
}

/* The fleet has the scenario's nodes in their order. */
static const struct pressure_watch *watch_of(void *owner,
	const struct fleet_node *node)
{
	const struct simulated_pressure *p = owner;

	return &p->watches[node - p->fleet->nodes];
}

static bool may_run(void *owner, const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	const struct simulated_pressure *p = owner;

	return p->filters.may_run(p->filters.owner, vm, target);
}

bool simulated_pressure_next(struct simulated_pressure *pressure,
	const struct fleet *fleet, const struct simulated_filters *filters,
	int64_t now_us, struct fleet_move *out, enum move_reason *reason)
{
	const struct pressure_options options = { watch_of, may_run, pressure };
	struct pressure_search search = { 0 };

	if (pressure == NULL) {
		return false;
	}
	pressure->fleet = fleet;
	pressure->filters = *filters;
	(void)pressure_search(&search, fleet, &options, now_us, SIZE_MAX);
	*out = search.best.move;
	*reason = search.best.reason;
	return search.has_best && !search.best.is_recommendation_only;
}
