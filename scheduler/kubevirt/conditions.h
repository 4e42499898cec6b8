/* status.conditions, as all kinds of KubeVirt have them. */
#pragma once

#include "kube/json_value.h"

#include <stdbool.h>

/* The condition of this type; NULL: there is none. */
const struct json_value *condition_find(const struct json_value *status,
	const char *type);

/* NULL is not true. */
bool condition_is_true(const struct json_value *condition);
