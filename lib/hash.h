/* 64-bit FNV-1a, the hash of Fowler, Noll and Vo:
 * http://www.isthe.com/chongo/tech/comp/fnv/ and IETF draft-eastlake-fnv.
 *
 * For hash tables and change detection within one process. FNV-1a does not
 * resist keys chosen by an attacker. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* FNV's offset basis, the seed of the first call. */
#define HASH_SEED UINT64_C(14695981039346656037)

/* The hash of the bytes that gave seed followed by these. */
uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t len);

/* The same for text without its NUL. NULL counts as "". */
uint64_t hash_text(uint64_t seed, const char *text);
