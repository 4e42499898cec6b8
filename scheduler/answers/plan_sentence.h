/* The sentence of a plan. The planner's own names VMs; an asker that may not
 * know all VMs gets one that is made of counts. Pure. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/answers/plan_tally.h"

void plan_sentence(struct buffer *out, const struct plan_result *result);
