/* A way to choose moves, for `simulate --rebalance`: the rule, or one of the
 * comparators. offline/move_policies.h lists them. */
#pragma once

#include "scheduler/rebalance/rule.h"

struct move_policy {
	const char *name;   /* of --rebalance-policy */
	const char *source; /* where the policy is described */
	/* A moved VM has a cooldown: see rule_cooldown_s(). */
	bool has_cooldown;
	/* state starts as state_bytes of zeros, one for each simulation. */
	size_t state_bytes;
	/* A step of step_s seconds was observed; may be NULL. */
	void (*observe)(void *state, const struct fleet *fleet, double step_s);
	/* The next order of this step. False: no more moves now. The fleet
	 * holds the orders that were given in this step. */
	bool (*next)(void *state, const struct fleet *fleet,
		const struct rule_options *options, struct fleet_move *out);
	void (*fini)(void *state); /* may be NULL */
};

/* "expected-shortage": rebalance/rule.h. */
extern const struct move_policy move_policy_rule;
