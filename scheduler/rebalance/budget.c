#include "scheduler/rebalance/budget.h"

static unsigned one_less(unsigned limit)
{
	return limit > 2 ? limit - 1 : 1;
}

unsigned budget_per_hour(const struct budget *budget)
{
	size_t share = budget->vms / BUDGET_VMS_PER_MOVE;

	if (budget->per_hour > 0) {
		return budget->per_hour;
	}
	if (share > BUDGET_HOUR_MAX) {
		return BUDGET_HOUR_MAX;
	}
	return share > BUDGET_HOUR_LEAST ? (unsigned)share : BUDGET_HOUR_LEAST;
}

unsigned budget_per_cluster(const struct budget *budget)
{
	return one_less(budget->per_cluster);
}

unsigned budget_out_of_node(unsigned out_of_node, unsigned waiting)
{
	return out_of_node < 2 && waiting > 0 ? 0 : one_less(out_of_node);
}

bool budget_admits(const struct budget *budget, struct buffer *why)
{
	unsigned unfinished = budget->unfinished;

	if (budget->ordered >= budget_per_hour(budget)) {
		buffer_printf(why,
			"%u moves began within the last hour, and "
			"--rebalance-max-per-hour is %u",
			budget->ordered, budget_per_hour(budget));
		return false;
	}
	if (unfinished >= budget_per_cluster(budget)) {
		buffer_printf(why,
			"%u migrations are unfinished, and moves stay below "
			"KubeVirt's limit of %u",
			unfinished, budget->per_cluster);
		return false;
	}
	if (budget->foreign > 0 && unfinished >= budget->per_cluster / 2) {
		buffer_printf(why,
			"%u migrations that others ordered are unfinished and "
			"go first",
			budget->foreign);
		return false;
	}
	return true;
}
