/* What several objects of storage have in common to read. */
#pragma once

#include "kube/json_value.h"
#include "kube/quantity.h"

#include <stdbool.h>

/* A copy of the member that a path names; "" where there is no text. */
char *storage_text(const struct value *object, const char *path);

/* The annotation, or NULL. Borrowed. */
const char *storage_note(const struct value *object, const char *key);

/* The class: the beta annotation wins over the member at path. The caller frees
 * it. */
char *storage_class_name(const struct value *object, const char *path);

/* Bits of access modes. */
unsigned int storage_modes(const struct value *list);

/* False where there is none, or none that can be read. */
bool storage_quantity(struct quantity *out, const struct value *text);

bool storage_is_deleting(const struct value *object);
