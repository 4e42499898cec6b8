/* Makes the record of a decision that aggregators store. Pure. */
#pragma once

#include "proto/decision.h"
#include "scheduler/score/decide.h"

#include <stdint.h>

/* sentence: the reason for the chosen node, or for none; truncated to fit.
 * wall_us is the time of the decision, cache_age_s the age of the objects that
 * it read. Elements of lists behind their counts are not initialised. */
void decision_record_from(struct decision_record *out,
	const struct decision *decision, const char *sentence, uint64_t wall_us,
	double cache_age_s);
