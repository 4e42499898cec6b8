#include "scheduler/answers/waves.h"

#include "lib/memory.h"

#include <stdbool.h>
#include <stdlib.h>

/* The moves of the steps so far. */
struct moves {
	const struct plan_step **list; /* owned */
	unsigned *waves;	       /* owned */
	size_t count;
};

/* The last wave in which a move leaves the node; 0: none. */
static unsigned last_from(const struct moves *moves, size_t node)
{
	unsigned last = 0;

	for (size_t i = 0; i < moves->count; i++) {
		if (moves->list[i]->source == node && moves->waves[i] > last) {
			last = moves->waves[i];
		}
	}
	return last;
}

static bool is_full(const struct moves *moves, unsigned wave, size_t source,
	const struct migration_limits *limits)
{
	unsigned all = 0, leaving = 0;

	for (size_t i = 0; i < moves->count; i++) {
		if (moves->waves[i] == wave) {
			all++;
			leaving += moves->list[i]->source == source;
		}
	}
	return all > 0 &&
		(all >= limits->per_cluster || leaving >= limits->out_of_node);
}

static unsigned wave_of_move(const struct moves *moves,
	const struct plan_step *step, const struct migration_limits *limits)
{
	unsigned wave = moves->count > 0 ? moves->waves[moves->count - 1] : 1;
	unsigned after = last_from(moves, step->target);

	if (wave <= after) {
		wave = after + 1;
	}
	/* The waves behind the last one are empty. */
	return is_full(moves, wave, step->source, limits) ? wave + 1 : wave;
}

unsigned waves_assign(unsigned *waves, const struct plan_step *steps,
	size_t count, const struct migration_limits *limits)
{
	struct moves moves = {
		.list = xcalloc(count + 1, sizeof(struct plan_step *)),
		.waves = xcalloc(count + 1, sizeof(unsigned)),
	};
	unsigned last = 0;

	for (size_t i = 0; i < count; i++) {
		if (steps[i].kind == PLAN_MOVE) {
			waves[i] = wave_of_move(&moves, &steps[i], limits);
			moves.list[moves.count] = &steps[i];
			moves.waves[moves.count++] = waves[i];
		} else {
			waves[i] = last_from(&moves, steps[i].target) + 1;
		}
		last = waves[i] > last ? waves[i] : last;
	}
	free(moves.list);
	free(moves.waves);
	return last;
}
