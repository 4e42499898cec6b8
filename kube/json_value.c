#include "kube/json_value.h"

#include "kube/json_value_build.h"
#include "lib/arena.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

/* An object of the API has a value in some 30 bytes, and cJSON allocates each
 * value and each text: so many bytes for a byte of text. */
enum { MEMORY_PER_BYTE = 4, MEMORY_MORE = 512 };

/* Where cJSON's allocations of this thread come from. */
static _Thread_local struct arena *current;

/* A struct json_value is a cJSON; only this file knows that. */
static const cJSON *json_of(const struct json_value *value)
{
	return (const cJSON *)value;
}

static const struct json_value *value_of(const cJSON *json)
{
	return (const struct json_value *)json;
}

static void *take(size_t size)
{
	return arena_take(current, size);
}

/* Pieces are freed with their tree. */
static void keep(void *piece)
{
	(void)piece;
}

static void set_hooks(void)
{
	cJSON_Hooks hooks = { .malloc_fn = take, .free_fn = keep };

	cJSON_InitHooks(&hooks);
}

void json_value_build_in(struct arena *arena)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, set_hooks);
	current = arena;
}

static bool is_blank(const char *at, const char *end)
{
	while (at < end && strchr(" \t\r\n", *at) != NULL && *at != '\0') {
		at++;
	}
	return at == end;
}

static int check_end(const char *end, const char *text, size_t len,
	bool is_read, struct error *err)
{
	size_t at = len > 0 ? (size_t)(end - text) : 0;

	if (!is_read) {
		return error_set(err, -EBADMSG, "invalid JSON at byte %zu", at);
	}
	if (!is_blank(end, text + len)) {
		return error_set(err, -EBADMSG,
			"more than one JSON value at byte %zu", at);
	}
	return 0;
}

int json_value_parse(struct json_value **out, const char *text, size_t len,
	struct error *err)
{
	struct arena *arena = arena_new(MEMORY_PER_BYTE * len + MEMORY_MORE);
	const char *end = text;
	cJSON *json;
	int r;

	json_value_build_in(arena);
	json = cJSON_ParseWithLengthOpts(text, len, &end, false);
	json_value_build_in(NULL);
	r = check_end(end, text, len, json != NULL, err);
	if (r < 0) {
		arena_free(arena);
		return r;
	}
	assert(arena_of_first(json) == arena);
	*out = (struct json_value *)json;
	return 0;
}

/* No fewer than the text holds: one, one after each comma, and the first one of
 * each container. */
static size_t count_values(const char *text, size_t len)
{
	bool is_in_text = false;
	size_t count = 1;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"') {
			is_in_text = !is_in_text;
		} else if (is_in_text) {
			i += text[i] == '\\';
		} else {
			count += text[i] == ',' || text[i] == '[' ||
				text[i] == '{';
		}
	}
	return count;
}

int json_value_parse_bounded(struct json_value **out, const char *text,
	size_t len, struct error *err)
{
	if (count_values(text, len) > JSON_VALUES_MAX) {
		return error_set(err, -E2BIG, "more than %d JSON values",
			JSON_VALUES_MAX);
	}
	return json_value_parse(out, text, len, err);
}

/* cJSON allocates the root first. */
void json_value_free(struct json_value *value)
{
	if (value != NULL) {
		arena_free(arena_of_first(value));
	}
}

void json_value_free_secret(struct json_value *value)
{
	if (value != NULL) {
		arena_overwrite(arena_of_first(value));
		json_value_free(value);
	}
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

bool json_value_false(const struct json_value *value)
{
	return value != NULL && !json_value_is_null(value) &&
		!json_value_true(value);
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
	return (struct json_value *)cJSON_CreateObject();
}

struct json_value *json_value_new_array(void)
{
	return (struct json_value *)cJSON_CreateArray();
}

struct json_value *json_value_new_text(const char *text)
{
	return (struct json_value *)cJSON_CreateString(text);
}

struct json_value *json_value_new_number(double number)
{
	return (struct json_value *)cJSON_CreateNumber(number);
}

struct json_value *json_value_new_bool(bool is_true)
{
	return (struct json_value *)cJSON_CreateBool(is_true);
}

struct json_value *json_value_new_null(void)
{
	return (struct json_value *)cJSON_CreateNull();
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

const char *json_value_library_version(void)
{
	return cJSON_Version();
}
