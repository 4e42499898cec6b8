/* Labels of objects of the API server: of Nodes by name, of launcher pods by
 * uid. In memory, no I/O; the informers fill the tables.
 *
 * The owner of an object writes its labels, so there is a limit for each
 * object; labels beyond it are left out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OBJECT_LABELS_BYTES = 4096 }; /* of an object's keys and values */

struct json_value;
struct label_set;
struct object_labels;

struct object_labels *object_labels_new(void);
void object_labels_free(struct object_labels *labels); /* NULL is fine */

/* Takes the labels and the creation time of an object; replaces earlier ones of
 * the key. NULL is fine: does nothing. */
void object_labels_put(struct object_labels *labels, const char *key,
	const struct json_value *object);
void object_labels_remove(struct object_labels *labels, const char *key);

/* NULL: not known, or labels is NULL. Borrowed until the next put or remove. */
const struct label_set *object_labels_find(const struct object_labels *labels,
	const char *key);

/* When the object was created, in microseconds since 1970; 0: not known. NULL
 * is fine. */
int64_t label_set_created_us(const struct label_set *set);

/* The value of a label; NULL: there is none, or set is NULL. */
const char *label_set_get(const struct label_set *set, const char *key);

/* Iterates: start with *at = 0; false at the end. NULL is fine: no label. */
bool label_set_next(const struct label_set *set, size_t *at, const char **key,
	const char **value);
