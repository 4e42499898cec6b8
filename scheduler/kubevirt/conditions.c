#include "scheduler/kubevirt/conditions.h"

#include <string.h>

const struct json_value *condition_find(const struct json_value *status,
	const char *type)
{
	const struct json_value *at =
		json_value_first(json_value_get(status, "conditions"));

	while (at != NULL &&
		strcmp(json_value_text_at(at, "type", ""), type) != 0) {
		at = json_value_next(at);
	}
	return at;
}

bool condition_is_true(const struct json_value *condition)
{
	return strcmp(json_value_text_at(condition, "status", ""), "True") == 0;
}
