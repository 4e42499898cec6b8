#include "kube/json_value.h"

#include "kube/json_value_build.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A struct json_value is a cJSON; only this file knows that. */
static const cJSON *json_of(const struct json_value *value)
{
	return (const cJSON *)value;
}

static const struct json_value *value_of(const cJSON *json)
{
	return (const struct json_value *)json;
}

/* cJSON returns NULL without memory; abort as lib/memory.h does. */
static struct json_value *checked(cJSON *json)
{
	if (json == NULL) {
		(void)fputs("out of memory\n", stderr);
		abort();
	}
	return (struct json_value *)json;
}

static bool is_blank(const char *at, const char *end)
{
	while (at < end && strchr(" \t\r\n", *at) != NULL && *at != '\0') {
		at++;
	}
	return at == end;
}

int json_value_parse(struct json_value **out, const char *text, size_t len,
	struct error *err)
{
	const char *end = text;
	cJSON *json = cJSON_ParseWithLengthOpts(text, len, &end, false);

	if (json == NULL) {
		return error_set(err, -EBADMSG, "invalid JSON at byte %zu",
			len > 0 ? (size_t)(end - text) : 0);
	}
	if (!is_blank(end, text + len)) {
		cJSON_Delete(json);
		return error_set(err, -EBADMSG,
			"more than one JSON value at byte %zu",
			(size_t)(end - text));
	}
	*out = (struct json_value *)json;
	return 0;
}

void json_value_free(struct json_value *value)
{
	cJSON_Delete((cJSON *)value);
}

static const struct json_value *find(const struct json_value *object,
	const char *key, size_t len)
{
	const cJSON *member = NULL;

	if (!json_value_is_object(object)) {
		return NULL;
	}
	cJSON_ArrayForEach(member, json_of(object))
	{
		if (strncmp(member->string, key, len) == 0 &&
			member->string[len] == '\0') {
			return value_of(member);
		}
	}
	return NULL;
}

const struct json_value *json_value_get(const struct json_value *object,
	const char *key)
{
	return find(object, key, strlen(key));
}

const struct json_value *json_value_at(const struct json_value *object,
	const char *path)
{
	for (;;) {
		size_t len = strcspn(path, "/");

		object = find(object, path, len);
		if (path[len] == '\0') {
			return object;
		}
		path += len + 1;
	}
}

bool json_value_is_object(const struct json_value *value)
{
	return cJSON_IsObject(json_of(value));
}

bool json_value_is_array(const struct json_value *value)
{
	return cJSON_IsArray(json_of(value));
}

bool json_value_is_null(const struct json_value *value)
{
	return cJSON_IsNull(json_of(value));
}

const char *json_value_text(const struct json_value *value)
{
	return cJSON_GetStringValue(json_of(value));
}

const char *json_value_text_at(const struct json_value *object,
	const char *path, const char *fallback)
{
	const char *text = json_value_text(json_value_at(object, path));

	return text != NULL ? text : fallback;
}

bool json_value_number(double *out, const struct json_value *value)
{
	/* cJSON parses 1e999 as infinity, which is not a JSON number. */
	if (!cJSON_IsNumber(json_of(value)) ||
		!isfinite(json_of(value)->valuedouble)) {
		return false;
	}
	*out = json_of(value)->valuedouble;
	return true;
}

bool json_value_true(const struct json_value *value)
{
	return cJSON_IsTrue(json_of(value));
}

const struct json_value *json_value_first(const struct json_value *container)
{
	return container != NULL ? value_of(json_of(container)->child) : NULL;
}

const struct json_value *json_value_next(const struct json_value *value)
{
	return value != NULL ? value_of(json_of(value)->next) : NULL;
}

size_t json_value_count(const struct json_value *container)
{
	return (size_t)cJSON_GetArraySize(json_of(container));
}

const char *json_value_key(const struct json_value *value)
{
	return value != NULL ? json_of(value)->string : NULL;
}

struct json_value *json_value_new_object(void)
{
	return checked(cJSON_CreateObject());
}

struct json_value *json_value_new_array(void)
{
	return checked(cJSON_CreateArray());
}

struct json_value *json_value_new_text(const char *text)
{
	return checked(cJSON_CreateString(text));
}

struct json_value *json_value_new_number(double number)
{
	return checked(cJSON_CreateNumber(number));
}

struct json_value *json_value_new_bool(bool is_true)
{
	return checked(cJSON_CreateBool(is_true));
}

struct json_value *json_value_new_null(void)
{
	return checked(cJSON_CreateNull());
}

void json_value_add(struct json_value *container, const char *key,
	struct json_value *child)
{
	cJSON *json = (cJSON *)container;
	cJSON_bool ok = key != NULL
		? cJSON_AddItemToObject(json, key, (cJSON *)child)
		: cJSON_AddItemToArray(json, (cJSON *)child);

	assert(ok);
	(void)ok;
}
