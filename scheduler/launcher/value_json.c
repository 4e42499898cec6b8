#include "scheduler/launcher/value_json.h"

static bool write_scalar(struct json *j, const char *key,
	const struct json_value *value)
{
	const char *text = json_value_text(value);
	double number = 0;

	if (text != NULL) {
		json_string(j, key, text);
	} else if (json_value_number(&number, value)) {
		json_number_or_null(j, key, number);
	} else if (json_value_is_null(value)) {
		json_null(j, key);
	} else {
		json_bool(j, key, json_value_true(value));
	}
	return true;
}

static bool write_array(struct json *j, const char *key,
	const struct json_value *array)
{
	const struct json_value *v = json_value_first(array);
	bool is_whole = true;

	json_array(j, key);
	for (; v != NULL && is_whole; v = json_value_next(v)) {
		is_whole = value_json_write(j, NULL, v);
	}
	json_array_end(j);
	return is_whole;
}

bool value_json_write_members(struct json *j, const struct json_value *object)
{
	const struct json_value *v = json_value_first(object);
	bool is_whole = true;

	for (; v != NULL && is_whole; v = json_value_next(v)) {
		is_whole = value_json_write(j, json_value_key(v), v);
	}
	return is_whole;
}

bool value_json_write(struct json *j, const char *key,
	const struct json_value *value)
{
	bool is_array = json_value_is_array(value);
	bool is_whole;

	if (value == NULL) {
		return true;
	}
	if (!is_array && !json_value_is_object(value)) {
		return write_scalar(j, key, value);
	}
	/* The level below this one. */
	if (j->depth + 2 >= JSON_DEPTH_MAX) {
		return false;
	}
	if (is_array) {
		return write_array(j, key, value);
	}
	json_object(j, key);
	is_whole = value_json_write_members(j, value);
	json_object_end(j);
	return is_whole;
}
