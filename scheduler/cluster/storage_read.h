/* Reads members that several storage objects have in common. */
#pragma once

#include "kube/json_value.h"
#include "kube/quantity.h"

#include <stdbool.h>

/* A copy of the string at the path; "" if there is no string. */
char *storage_text(const struct json_value *object, const char *path);

/* The annotation, or NULL. Borrowed. */
const char *storage_annotation(const struct json_value *object,
	const char *key);

/* The storage class: the beta annotation wins over the member at path. The
 * caller frees it. */
char *storage_class_name(const struct json_value *object, const char *path);

/* Bits of access modes. */
enum {
	ACCESS_ONCE = 1,
	ACCESS_READ_MANY = 2,
	ACCESS_WRITE_MANY = 4,
	ACCESS_ONE_POD = 8,
};

unsigned int storage_modes(const struct json_value *list);

/* False: missing or invalid. */
bool storage_quantity(struct quantity *out, const struct json_value *text);

bool storage_is_deleting(const struct json_value *object);
