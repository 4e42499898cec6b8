/* Fields of a manifest that is checked: where they are, and of which type. The
 * types are those that the API server decodes; a field that is null or missing
 * is one that is not set. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

/* A field, within the field of its parent; on the stack. */
struct manifest_field {
	const struct manifest_field *parent; /* NULL: the manifest itself */
	const char *name; /* a literal; NULL: an element of a list */
	size_t index;
	const struct json_value *value; /* NULL: not set */
};

/* A member of an object, and the index-th element of a list. */
struct manifest_field manifest_member(const struct manifest_field *parent,
	const char *name);
struct manifest_field manifest_element(const struct manifest_field *parent,
	size_t index, const struct json_value *value);

/* -EINVAL, with a sentence of the field's path and the words. */
int manifest_refuse(const struct manifest_field *field, const char *words,
	struct error *err);

/* Each is -EINVAL if the field is set and of another type. */
must_check int manifest_object(const struct manifest_field *field,
	struct error *err);
must_check int manifest_text(const char **out,
	const struct manifest_field *field, struct error *err);

/* Whether the field is set is in *is_set; 0 if it is not. */
must_check int manifest_integer(int *out, bool *is_set,
	const struct manifest_field *field, struct error *err);

typedef int (*manifest_check_one)(const struct manifest_field *field,
	void *owner, struct error *err);

/* Calls check for each element of a list, in order; owner may be NULL. The
 * first error ends it. -EINVAL also if the field is set and no list. */
must_check int manifest_each(const struct manifest_field *list,
	manifest_check_one check, void *owner, struct error *err);
