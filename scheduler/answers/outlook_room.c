#include "scheduler/answers/outlook_room.h"

#include "kube/json_value.h"
#include "lib/memory.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { KEY_MAX = 64 };

/* The members of GET /v1/room that name no pod, no VM and no move. */
static const char *const members[] = { "now", "timeout_s", "mode",
	"effective_mode", "why", "making", "fits", "fits_error", NULL };
static const char *const making[] = { "priority", "state", "since", "node",
	"holds_the_place", "moves", NULL };
static const char *const moves[] = { "source", "target", "state", NULL };
static const char *const fits[] = { "age_s", "nodes", "vms", "max_moves",
	"cpu_allocation_ratio", "memory_overcommit", "kinds", NULL };
static const char *const kinds[] = { "kind", "offered", "message", "shapes",
	"largest_now", "largest_after_moves", "cut_off", NULL };
static const char *const shapes[] = { "vcpus", "memory_gib", "fits_now",
	"nodes", "copies", "fits_after_moves", "moves", "cut_off", NULL };
static const char *const largest[] = { "vcpus", "memory_gib", "node", "moves",
	NULL };

/* The members that hold objects, or arrays of them. */
static const struct {
	const char *key;
	const char *const *members;
} inner[] = {
	{ "making", making },
	{ "moves", moves },
	{ "fits", fits },
	{ "kinds", kinds },
	{ "shapes", shapes },
	{ "largest_now", largest },
	{ "largest_after_moves", largest },
};

static bool has(const char *const *words, const char *word)
{
	while (*words != NULL && strcmp(*words, word) != 0) {
		words++;
	}
	return *words != NULL;
}

static const char *const *members_of(const char *key)
{
	static const char *const nothing[] = { NULL };

	for (size_t i = 0; i < count_of(inner); i++) {
		if (strcmp(inner[i].key, key) == 0) {
			return inner[i].members;
		}
	}
	return nothing;
}

/* "age_s" is ageS, as in the API's other objects. */
static const char *camel_case(char out[KEY_MAX], const char *key)
{
	size_t len = 0;

	for (; *key != '\0' && len + 1 < KEY_MAX; key++) {
		bool is_joint = *key == '_' && key[1] != '\0';

		key += is_joint;
		out[len++] =
			(char)(is_joint ? toupper((unsigned char)*key) : *key);
	}
	out[len] = '\0';
	return out;
}

static void write_scalar(struct json *j, const char *key,
	const struct json_value *value)
{
	const char *text = json_value_text(value);
	double number;

	if (text != NULL) {
		json_string(j, key, text);
	} else if (json_value_number(&number, value)) {
		json_number(j, key, number);
	} else if (!json_value_is_null(value)) {
		json_bool(j, key, json_value_true(value));
	}
}

/* The next three call each other as deep as the tables go. */
static void write_value(struct json *j, const char *key,
	const struct json_value *value, const char *const *allowed);

static void write_object(struct json *j, const char *key,
	const struct json_value *object, const char *const *allowed)
{
	const struct json_value *v = json_value_first(object);

	json_object(j, key);
	for (; v != NULL; v = json_value_next(v)) {
		char name[KEY_MAX];

		if (has(allowed, json_value_key(v))) {
			write_value(j, camel_case(name, json_value_key(v)), v,
				members_of(json_value_key(v)));
		}
	}
	json_object_end(j);
}

static void write_value(struct json *j, const char *key,
	const struct json_value *value, const char *const *allowed)
{
	if (json_value_is_object(value)) {
		write_object(j, key, value, allowed);
	} else if (json_value_is_array(value)) {
		const struct json_value *v = json_value_first(value);

		json_array(j, key);
		for (; v != NULL; v = json_value_next(v)) {
			write_value(j, NULL, v, allowed);
		}
		json_array_end(j);
	} else {
		write_scalar(j, key, value);
	}
}

void outlook_room_write(struct json *j, const char *room)
{
	struct json_value *value = NULL;

	if (json_value_parse(&value, room, strlen(room), NULL) == 0 &&
		json_value_is_object(value)) {
		write_object(j, "room", value, members);
	}
	json_value_free(value);
}
