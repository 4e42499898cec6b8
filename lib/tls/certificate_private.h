/* Shared by certificate*.c: random numbers and keys, with mbedtls 2.28 of
 * Debian 12 and 3.6 of Debian 13. */
#pragma once

#include <mbedtls/pk.h>
#include <stdbool.h>
#include <stddef.h>

/* The kernel's random bytes, as mbedtls asks for them. owner is ignored. 0, or
 * -1: the kernel has none. */
int certificate_draw(void *owner, unsigned char *out, size_t len);

/* Reads a private key from PEM. out is initialised. Returns mbedtls' result. */
int certificate_parse_key(mbedtls_pk_context *out, const char *pem);

/* Whether the private key is that of the public key. */
bool certificate_is_pair(const mbedtls_pk_context *public,
	const mbedtls_pk_context *key);
