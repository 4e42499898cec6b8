#include "simulate/move_policies.h"

#include <stddef.h>
#include <string.h>

#include "lib/memory.h"
#include "simulate/comparators/comparators.h"

static const struct move_policy *const policies[] = {
	&move_policy_rule,
	&threshold_80_policy,
	&threshold_90_policy,
	&smallest_that_helps_policy,
	&interquartile_policy,
	&local_regression_policy,
	&deviation_policy,
	&deviation_real_load_policy,
	&imbalance_policy,
};

const struct move_policy *move_policies_find(const char *name)
{
	for (size_t i = 0; i < count_of(policies); i++) {
		if (strcmp(policies[i]->name, name) == 0) {
			return policies[i];
		}
	}
	return NULL;
}

void move_policies_list(struct buffer *out)
{
	for (size_t i = 0; i < count_of(policies); i++) {
		buffer_printf(out, "%s%s", i > 0 ? ", " : "",
			policies[i]->name);
	}
}
