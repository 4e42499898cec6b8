/* Waves of a plan's steps: the moves of a wave may run at once within
 * KubeVirt's limits. Pure.
 *
 * Moves keep their order: a move is in the wave of the move before it, or in
 * the next one if the wave is full, if its source has its limit of moves in the
 * wave, or if a move of the wave makes room on its target. A VM that starts is
 * in the wave after the last move that makes room on its node; it is no
 * migration and takes no place. */
#pragma once

#include "scheduler/kubevirt/migration_limits.h"
#include "scheduler/plan/plan.h"

#include <stddef.h>

/* Sets the wave of each step, from 1. Returns the number of waves. A limit of 0
 * counts as 1. */
unsigned waves_assign(unsigned *waves, const struct plan_step *steps,
	size_t count, const struct migration_limits *limits);
