#include "aggregator/apiserver/api_model.h"

#include "lib/clock.h"
#include "proto/report.h"

#include <ctype.h>
#include <string.h>

/* Writes the name in camelCase; returns out. */
static const char *camel_case(char out[API_MODEL_NAME_MAX], const char *name)
{
	size_t len = 0;

	for (const char *at = name; *at != '\0' && len + 1 < API_MODEL_NAME_MAX;
		at++) {
		if (*at == '_' && at[1] != '\0') {
			at++;
			out[len++] = (char)toupper((unsigned char)*at);
		} else {
			out[len++] = *at;
		}
	}
	out[len] = '\0';
	return out;
}

/* ---- objects ---- */

static void write_count(struct json *j, const char *key, uint64_t value)
{
	if (value != REPORT_UNKNOWN) {
		json_unsigned(j, key, value);
	}
}

static void write_seconds(struct json *j, const char *key, uint64_t us)
{
	if (us != REPORT_UNKNOWN) {
		json_number(j, key, (double)us / 1e6);
	}
}

static void write_text(struct json *j, const char *key, const char *text)
{
	if (text != NULL && *text != '\0') {
		json_string(j, key, text);
	}
}

static void write_time(struct json *j, const char *key, uint64_t us)
{
	char text[CLOCK_TEXT_MAX];

	if (us != 0) {
		json_string(j, key, clock_text(text, us));
	}
}

static void write_list(struct json *j, const char *key,
	const struct api_model *model, const struct api_model_list *list)
{
	const char *items = list->items;

	json_array(j, key);
	for (size_t i = 0; i < list->count; i++) {
		json_object(j, NULL);
		api_model_write(j, model, items + i * model->size);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_texts(struct json *j, const char *key,
	const struct api_model_texts *texts)
{
	const char *at = texts->packed;

	json_array(j, key);
	for (size_t i = 0; i < texts->count; i++) {
		json_string(j, NULL, at);
		at += strlen(at) + 1;
	}
	json_array_end(j);
}

static void write_numbers(struct json *j, const char *key,
	const struct api_model_numbers *numbers)
{
	json_object(j, key);
	for (size_t i = 0; i < numbers->count; i++) {
		json_number(j, numbers->items[i].name,
			numbers->items[i].points);
	}
	json_object_end(j);
}

/* A value that holds others. */
static void write_group(struct json *j, const char *key,
	const struct api_model_field *field, const void *value)
{
	switch (field->kind) {
	case API_MODEL_OBJECT:
		json_object(j, key);
		api_model_write(j, field->of, value);
		json_object_end(j);
		return;
	case API_MODEL_LIST:
		write_list(j, key, field->of, value);
		return;
	case API_MODEL_TEXTS:
		write_texts(j, key, value);
		return;
	case API_MODEL_NUMBERS:
		write_numbers(j, key, value);
		return;
	default:
		return;
	}
}

static void write_value(struct json *j, const char *key,
	const struct api_model_field *field, const void *value)
{
	switch (field->kind) {
	case API_MODEL_TEXT:
		write_text(j, key, *(const char *const *)value);
		return;
	case API_MODEL_CHARS:
		write_text(j, key, value);
		return;
	case API_MODEL_TIME:
		write_time(j, key, *(const uint64_t *)value);
		return;
	case API_MODEL_NUMBER:
		json_number(j, key, *(const double *)value);
		return;
	case API_MODEL_SECONDS:
		write_seconds(j, key, *(const uint64_t *)value);
		return;
	case API_MODEL_COUNT:
		write_count(j, key, *(const uint64_t *)value);
		return;
	case API_MODEL_NATURAL:
		json_unsigned(j, key, *(const uint32_t *)value);
		return;
	case API_MODEL_BOOL:
		json_bool(j, key, *(const bool *)value);
		return;
	default:
		write_group(j, key, field, value);
		return;
	}
}

void api_model_write(struct json *j, const struct api_model *model,
	const void *value)
{
	for (size_t i = 0; i < model->count; i++) {
		const struct api_model_field *field = &model->fields[i];
		char key[API_MODEL_NAME_MAX];

		write_value(j, camel_case(key, field->name), field,
			(const char *)value + field->offset);
	}
}

/* ---- single fields ---- */

static const struct api_model_field *find_field(const struct api_model *model,
	const char *name, size_t len)
{
	for (size_t i = 0; i < model->count; i++) {
		char key[API_MODEL_NAME_MAX];

		(void)camel_case(key, model->fields[i].name);
		if (strlen(key) == len && strncmp(key, name, len) == 0) {
			return &model->fields[i];
		}
	}
	return NULL;
}

bool api_model_find(struct api_model_place *out, const struct api_model *model,
	const char *path)
{
	struct api_model_place place = { NULL, 0 };

	while (model != NULL) {
		size_t len = strcspn(path, ".");

		place.field = find_field(model, path, len);
		if (place.field == NULL) {
			return false;
		}
		place.offset += place.field->offset;
		if (path[len] == '\0') {
			*out = place;
			return place.field->kind != API_MODEL_OBJECT;
		}
		path += len + 1;
		model = place.field->kind == API_MODEL_OBJECT ? place.field->of
							      : NULL;
	}
	return false;
}

void api_model_write_place(struct json *j, const struct api_model_place *place,
	const void *value)
{
	size_t before = j->out->len;

	write_value(j, NULL, place->field, (const char *)value + place->offset);
	if (j->out->len == before) {
		json_null(j, NULL);
	}
}

/* ---- documents ---- */

/* The type of the elements of an array or an object of numbers. */
static void write_items(struct json *j, const char *key, const char *type)
{
	json_object(j, key);
	json_string(j, "type", type);
	json_object_end(j);
}

const char *api_model_type_of(const struct api_model_field *field)
{
	switch (field->kind) {
	case API_MODEL_TEXT:
	case API_MODEL_CHARS:
	case API_MODEL_TIME:
		return "string";
	case API_MODEL_NUMBER:
	case API_MODEL_SECONDS:
		return "number";
	case API_MODEL_COUNT:
	case API_MODEL_NATURAL:
		return "integer";
	case API_MODEL_BOOL:
		return "boolean";
	case API_MODEL_LIST:
	case API_MODEL_TEXTS:
	case API_MODEL_RAW:
		return "array";
	default:
		return "object";
	}
}

static void describe_group(struct json *j, const struct api_model_field *field)
{
	if (field->kind == API_MODEL_OBJECT) {
		api_model_describe(j, field->of, NULL);
	} else if (field->kind == API_MODEL_LIST) {
		json_object(j, "items");
		json_string(j, "type", "object");
		api_model_describe(j, field->of, NULL);
		json_object_end(j);
	} else if (field->kind == API_MODEL_TEXTS) {
		write_items(j, "items", "string");
	} else if (field->kind == API_MODEL_NUMBERS) {
		write_items(j, "additionalProperties", "number");
	} else if (field->kind == API_MODEL_RAW) {
		json_object(j, "items");
		json_object_end(j);
	}
}

static void describe_type(struct json *j, const struct api_model_field *field)
{
	json_string(j, "type", api_model_type_of(field));
	switch (field->kind) {
	case API_MODEL_TIME:
		json_string(j, "format", "date-time");
		return;
	case API_MODEL_NUMBER:
	case API_MODEL_SECONDS:
		json_string(j, "format", "double");
		return;
	case API_MODEL_COUNT:
	case API_MODEL_NATURAL:
		json_string(j, "format", "int64");
		return;
	default:
		describe_group(j, field);
		return;
	}
}

void api_model_describe(struct json *j, const struct api_model *model,
	void (*first)(struct json *j))
{
	json_object(j, "properties");
	if (first != NULL) {
		first(j);
	}
	for (size_t i = 0; i < model->count; i++) {
		char key[API_MODEL_NAME_MAX];

		json_object(j, camel_case(key, model->fields[i].name));
		json_string(j, "description", model->fields[i].help);
		describe_type(j, &model->fields[i]);
		json_object_end(j);
	}
	json_object_end(j);
}
