/* Builds trees of struct json_value, for kube/yaml.c. */
#pragma once

#include <stdbool.h>

struct arena;
struct json_value;

/* The values that this thread makes from now on are in this arena, and the
 * first of them is the root, which owns the arena. NULL: the tree is done. */
void json_value_build_in(struct arena *arena);

struct json_value *json_value_new_object(void);
struct json_value *json_value_new_array(void);
struct json_value *json_value_new_text(const char *text); /* copied */
struct json_value *json_value_new_number(double number);
struct json_value *json_value_new_bool(bool is_true);
struct json_value *json_value_new_null(void);

/* Appends child to an object under key (copied), or to an array if key is NULL.
 * Does not check for duplicate keys. */
void json_value_add(struct json_value *container, const char *key,
	struct json_value *child);
