#include "kubectl/fields.h"

#include "kube/json_value.h"
#include "kube/time.h"
#include "kubectl/escape.h"

#include <math.h>
#include <string.h>

char *field_text(const struct json_value *object, const char *path,
	const char *fallback)
{
	return escape_copy(json_value_text_at(object, path, fallback));
}

double field_number(const struct json_value *object, const char *path)
{
	double value = NAN;

	(void)json_value_number(&value, json_value_at(object, path));
	return value;
}

bool field_true(const struct json_value *object, const char *path)
{
	return json_value_true(json_value_at(object, path));
}

const struct json_value *field_find(const struct json_value *list,
	const char *key, const char *text)
{
	const struct json_value *at = json_value_first(list);

	while (at != NULL &&
		strcmp(json_value_text_at(at, key, ""), text) != 0) {
		at = json_value_next(at);
	}
	return at;
}

const struct json_value *field_condition(const struct json_value *object,
	const char *type)
{
	return field_find(json_value_at(object, "status/conditions"), "type",
		type);
}

double field_time_s(const struct json_value *object, const char *path)
{
	int64_t us = 0;

	if (time_parse(&us, json_value_text_at(object, path, ""), NULL) < 0) {
		return NAN;
	}
	return (double)us / 1e6;
}
