/* The move policies of `simulate --rebalance-policy`. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/rebalance/move_policy.h"

/* NULL: there is no policy of that name. */
const struct move_policy *move_policies_find(const char *name);

/* Appends all names: "expected-shortage, threshold". */
void move_policies_list(struct buffer *out);
