/* SipHash-2-4, the keyed hash of Aumasson and Bernstein:
 * https://131002.net/siphash/ and https://github.com/veorq/SipHash.
 *
 * For hash tables and change detection within one process. Each process draws
 * its own key from the kernel, so nobody outside can choose texts that collide,
 * and a hash must never be stored or sent. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hash_key {
	uint64_t k0, k1;
};

/* The hash of the bytes with a given key. */
uint64_t hash_with(struct hash_key key, const void *bytes, size_t len);

/* The seed of the first call. */
#define HASH_SEED UINT64_C(0)

/* The hash of these bytes after what gave seed, with the key of the process.
 * Any thread may call it. */
uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t len);

/* The same for text without its NUL. NULL counts as "". */
uint64_t hash_text(uint64_t seed, const char *text);
