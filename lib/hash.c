#include "lib/hash.h"

static const uint64_t prime = UINT64_C(1099511628211);

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++) {
		seed = (seed ^ at[i]) * prime;
	}
	return seed;
}

uint64_t hash_text(uint64_t seed, const char *text)
{
	for (; text != NULL && *text != '\0'; text++) {
		seed = (seed ^ (unsigned char)*text) * prime;
	}
	return seed;
}
