/* The plans that a test writes; part of fake_planner.h. */
#pragma once

static inline void plan_nothing(const char *sentence)
{
	fake_planner.node = NULL;
	fake_planner.sentence = sentence;
	fake_planner.step_count = 0;
}

static inline void plan_for(const char *node, const char *sentence)
{
	fake_planner.node = node;
	fake_planner.sentence = sentence;
	fake_planner.step_count = 0;
}

static inline void plan_step(const char *vm, const char *source,
	const char *target)
{
	fake_planner.steps[fake_planner.step_count++] =
		(struct fake_step){ vm, source, target };
}
