/* Checks of JSON lists and texts from the API server. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"

#include <stddef.h>

/* list is an array; NULL and null count as empty. what names the values in the
 * error. -EBADMSG: not a list. */
must_check int value_list_check(const struct json_value *list, const char *what,
	struct error *err);

/* The index of a text in the list; count: not in it. */
size_t value_list_find(const char *const *list, size_t count, const char *text);
