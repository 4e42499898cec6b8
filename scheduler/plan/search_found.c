#include "scheduler/plan/search.h"

#include "lib/memory.h"

#include <math.h>
#include <stdlib.h>

static long load_of(const struct plan_step *step)
{
	double load = step->target_load_after;

	return isnan(load) || load > 1000 ? 0 : lround(load * 1e4);
}

static void grow(struct found *best, size_t count)
{
	if (count > best->capacity) {
		best->capacity = count;
		best->vms = xrealloc(best->vms, count, sizeof(size_t));
		best->targets = xrealloc(best->targets, count, sizeof(size_t));
		best->kinds =
			xrealloc(best->kinds, count, sizeof(*best->kinds));
	}
}

double search_memory(const struct state *state)
{
	double memory = 0;

	for (size_t i = 0; i < state->step_count; i++) {
		if (state->steps[i].kind == PLAN_MOVE) {
			memory += state->vms[state->step_vms[i]].memory;
		}
	}
	return memory;
}

static long highest_load(const struct state *state)
{
	long highest = 0;

	for (size_t i = 0; i < state->step_count; i++) {
		long load = load_of(&state->steps[i]);

		highest = load > highest ? load : highest;
	}
	return highest;
}

static bool is_better(const struct search *s, size_t moves, double memory,
	long load)
{
	const struct found *best = &s->best;

	if (!best->is_found || moves != best->moves) {
		return !best->is_found || moves < best->moves;
	}
	if (fabs(memory - best->memory) >= 1) {
		return memory < best->memory;
	}
	return load < best->load;
}

static void copy_steps(struct found *best, const struct state *state)
{
	grow(best, state->step_count);
	best->count = state->step_count;
	for (size_t i = 0; i < state->step_count; i++) {
		best->vms[i] = state->step_vms[i];
		best->targets[i] = state->steps[i].target;
		best->kinds[i] = state->steps[i].kind;
	}
}

/* All wants are done. True: the search ends. */
bool search_arrive(struct search *s, size_t node)
{
	const struct state *state = s->state;
	double memory;
	long load;

	if (s->is_probing) {
		s->has_reached = true;
		return true;
	}
	memory = search_memory(state);
	load = highest_load(state);
	if (is_better(s, state->moves, memory, load)) {
		if (!s->best.is_found && !s->ends_at_first) {
			/* Improving must not cost more than finding. */
			uint64_t more = s->work < 200000 ? 200000 : s->work;

			s->limit = s->work + more < s->limit ? s->work + more
							     : s->limit;
		}
		copy_steps(&s->best, state);
		s->best.is_found = true;
		s->best.moves = state->moves;
		s->best.memory = memory;
		s->best.load = load;
		s->best.node = node;
	}
	return s->ends_at_first;
}

void search_keep(struct search *s)
{
	struct found *best = &s->best;

	for (size_t i = s->state->step_count; i < best->count; i++) {
		state_step(s->state, best->vms[i], best->targets[i],
			best->kinds[i]);
	}
	best->is_found = false;
	best->count = 0;
}
