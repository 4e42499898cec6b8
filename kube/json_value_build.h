/* Trees of struct value built by hand: what YAML is read into.
 *
 * Everything returned is owned by the caller until it is added to a container,
 * which owns it from then on. */
#pragma once

#include <stdbool.h>

struct value;

struct value *value_new_object(void);
struct value *value_new_array(void);
struct value *value_new_text(const char *text); /* copied */
struct value *value_new_number(double number);
struct value *value_new_bool(bool is_true);
struct value *value_new_null(void);

/* Puts child at the end of an object under key (copied), or of an array, where
 * key is NULL. Does not look for a key that is there already. */
void value_add(struct value *container, const char *key, struct value *child);
