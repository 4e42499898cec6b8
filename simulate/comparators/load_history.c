#include "simulate/comparators/load_history.h"

#include "lib/memory.h"
#include "simulate/comparators/relief.h"

#include <stdlib.h>
#include <string.h>

static void shift(double *loads)
{
	memmove(loads, loads + 1, (LOAD_HISTORY_MAX - 1) * sizeof(*loads));
}

void load_history_add(struct load_history *history, const struct fleet *fleet)
{
	if (history->loads == NULL) {
		history->node_count = fleet->node_count;
		history->loads =
			xcalloc(fleet->node_count + 1, sizeof(*history->loads));
	}
	for (size_t i = 0; i < history->node_count; i++) {
		if (history->count == LOAD_HISTORY_MAX) {
			shift(history->loads[i]);
		}
		history->loads[i][history->count < LOAD_HISTORY_MAX
				? history->count
				: LOAD_HISTORY_MAX - 1] =
			relief_load(&fleet->nodes[i]);
	}
	if (history->count < LOAD_HISTORY_MAX) {
		history->count++;
	}
}

void load_history_fini(struct load_history *history)
{
	free(history->loads);
	*history = (struct load_history){ 0 };
}
