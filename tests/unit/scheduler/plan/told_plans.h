/* The plans that a test finds, for the golden section of the test. */
#pragma once

#include "scheduler/plan/plan.h"
#include "tests/support/golden.h"

static inline void tell_plan(const struct plan *plan)
{
	golden_tell("%d, %zu moves, node %td, cut off %d: %s\n", plan->is_found,
		plan->moves, plan->node, plan->is_cut_off, plan->sentence);
	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_step *step = &plan->steps[i];

		golden_tell("  %d %s %zu > %zu: %.6g %.6g, %.6g %.6g\n",
			(int)step->kind, step->pod->name, step->source,
			step->target, step->source_load_before,
			step->source_load_after, step->target_load_before,
			step->target_load_after);
	}
	for (size_t i = 0; i < plan->left_count; i++) {
		golden_tell("  %s stays on %zu: %s\n", plan->left[i].pod->name,
			plan->left[i].node, plan->left[i].why);
	}
}
