/* The continue token of a list. Pure.
 *
 * The token names the place after which the list goes on: the last key in the
 * order of the list. It is of one process (its epoch) and of one resource, so
 * that after a restart, or at another aggregator, it is expired and never
 * wrong. */
#pragma once

#include "lib/error.h"

#include <stdint.h>

enum { PAGE_KEY_MAX = 512 }; /* with its NUL */

/* The caller frees the text; resource and key have no space. */
char *page_token_write(uint64_t epoch, const char *resource, const char *key);

/* Writes the key, "" if text is NULL or "". -EINVAL: not a token of this
 * resource; -ESTALE: of another process. */
must_check int page_token_read(char key[PAGE_KEY_MAX], const char *text,
	uint64_t epoch, const char *resource, struct error *err);
