#include "scheduler/rebalance/move_policy.h"

#include <stdint.h>

static bool next(void *state, const struct fleet *fleet,
	const struct rule_options *options, struct fleet_move *out)
{
	struct rule_search search = { 0 };
	bool has_best;

	(void)state;
	(void)rule_search(&search, fleet, options, SIZE_MAX);
	*out = search.best;
	has_best = search.has_best;
	rule_search_fini(&search);
	return has_best;
}

const struct move_policy move_policy_rule = {
	.name = "expected-shortage",
	.source = "docs/scoring.md",
	.has_cooldown = true,
	.next = next,
};
