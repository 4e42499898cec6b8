/* How different two words are, for suggestions. */
#pragma once

#include <stddef.h>

enum { EDIT_DISTANCE_MAX = 48 }; /* words are shorter than this */

/* How many letters have to be inserted, deleted or replaced to turn a, of a_len
 * bytes, into b (Levenshtein's distance). */
size_t edit_distance(const char *a, size_t a_len, const char *b);
