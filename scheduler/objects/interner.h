/* Interned names: label keys and values, node names, resource names.
 *
 * A name is a small number, equal exactly if the text is equal, so that
 * filters compare numbers. Each holder counts; a name nobody holds any more is
 * forgotten and its number used again. */
#pragma once

#include <stdint.h>

struct names;

struct names *names_new(void);	      /* never NULL */
void names_free(struct names *names); /* after its last holder; NULL is fine */

/* The number of text, never 0; one more holder. */
uint32_t names_hold(struct names *names, const char *text);

/* One holder less. 0 is fine. */
void names_drop(struct names *names, uint32_t name);

/* Borrowed while the name is held. */
const char *names_text(const struct names *names, uint32_t name);
