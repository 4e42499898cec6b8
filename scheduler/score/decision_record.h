/* What is worth keeping of a decision. Pure. */
#pragma once

#include "proto/decision.h"
#include "scheduler/score/decide.h"

#include <stdint.h>

/* sentence: why the node was chosen, or why none was; cut to fit. wall_us is
 * the time of the decision. */
void record_from(struct decision_record *out, const struct decision *decision,
	const char *sentence, uint64_t wall_us);
