#include "scheduler/mover/second_target.h"

#include "scheduler/mover/move_words.h"
#include "scheduler/rebalance/rule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* An announcement of less is not worth a word. */
#define TOLD_CORES 0.05

static double cost_of(const struct second_target *choice)
{
	return fmax(choice->after - choice->before, 0);
}

static bool is_better(const struct fleet *fleet, const struct second_target *a,
	const struct second_target *b)
{
	double more = cost_of(a) - cost_of(b);

	return !b->exists || more < 0 ||
		(more <= 0 &&
			strcmp(fleet->nodes[a->node].node->name,
				fleet->nodes[b->node].node->name) < 0);
}

struct second_target second_target_find(const struct fleet *fleet,
	const struct fleet_move *move, fleet_may_run may_run, void *owner)
{
	const struct fleet_vm *vm = &fleet->vms[move->vm];
	struct second_target best = { 0 };

	for (size_t i = 0; i < fleet->node_count; i++) {
		const struct fleet_node *node = &fleet->nodes[i];
		struct second_target choice = { true, i,
			RULE_STEPS * node->shortage, 0 };

		if (i == vm->node || i == move->target || !node->may_take) {
			continue;
		}
		choice.after = RULE_STEPS * fleet_shortage_with(node, vm);
		if (is_better(fleet, &choice, &best) &&
			may_run(owner, vm, node)) {
			best = choice;
		}
	}
	return best;
}

void second_target_describe(char *sentence, size_t size,
	const struct fleet *fleet, const struct fleet_move *move,
	const struct second_target *next)
{
	double announced = fleet->vms[move->vm].announced_cores;
	size_t used = strlen(sentence);

	if (next->exists) {
		(void)snprintf(sentence + used, size - used,
			"; the next choice, %s, is short of %.1f, and of %.1f "
			"with the VM",
			fleet->nodes[next->node].node->name,
			MOVE_WORDS_MINUTES * next->before,
			MOVE_WORDS_MINUTES * next->after);
	} else {
		(void)snprintf(sentence + used, size - used,
			"; no other node can take the VM now");
	}
	used = strlen(sentence);
	if (announced > TOLD_CORES) {
		(void)snprintf(sentence + used, size - used,
			"; the VM announces %.1f cores more than it is "
			"expected to use",
			announced);
	}
}
