/* Interned strings: label keys and values, node names, resource names.
 *
 * Each string has an id, a small number above 0. Two ids are equal if and only
 * if the strings are equal, so filters compare numbers. Ids are reference
 * counted: a member marked "held" owns one reference. The interner frees a
 * string with its last reference and reuses the id.
 *
 * All threads may use an interner at the same time; a mutex guards it. */
#pragma once

#include <stdint.h>

struct interner;

struct interner *interner_new(void); /* never NULL */
/* After the last reference was dropped. NULL is fine. */
void interner_free(struct interner *interner);

/* The id of text, never 0. Adds a reference. */
uint32_t interner_hold(struct interner *interner, const char *text);

/* The id of text, or 0. Adds no reference. */
uint32_t interner_find(const struct interner *interner, const char *text);

/* Adds a reference to an id that is held. 0 is fine. */
void interner_hold_id(struct interner *interner, uint32_t id);

/* Drops a reference. 0 is fine. */
void interner_drop(struct interner *interner, uint32_t id);

/* Borrowed: neither moves nor changes while the id is held, in any thread. */
const char *interner_text(const struct interner *interner, uint32_t id);
