/* Counts the blocks of memory that lib/memory.h gave and that nobody freed, so
 * that a release build notices what is not freed. The Makefile names what a
 * test wraps for it (WRAP_live_blocks). For tests of one thread. */
#pragma once

#include <stddef.h>

size_t live_blocks(void);
