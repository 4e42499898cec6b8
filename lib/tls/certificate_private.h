/* Shared by certificate*.c: random numbers, keys and chains, with mbedtls 2.28
 * of Debian 12 and 3.6 of Debian 13. */
#pragma once

#include <mbedtls/pk.h>
#include <mbedtls/x509_crt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define scoped_chain __attribute__((cleanup(mbedtls_x509_crt_free)))
#define scoped_key __attribute__((cleanup(mbedtls_pk_free)))

/* The kernel's random bytes, as mbedtls asks for them. owner is ignored. 0, or
 * -1: the kernel has none. */
int certificate_draw(void *owner, unsigned char *out, size_t len);

/* Reads a private key from PEM. out is initialised. Returns mbedtls' result. */
int certificate_parse_key(mbedtls_pk_context *out, const char *pem);

/* Reads all certificates of a PEM text. out is initialised. Returns mbedtls'
 * result; above 0 it is the number of certificates that were skipped. */
int certificate_parse_chain(mbedtls_x509_crt *out, const char *pem);

/* Writes an element of DER. mbedtls writes from the end: *at moves towards
 * start. Returns the number of bytes, or mbedtls' negative error. */
int certificate_write_der(unsigned char **at, unsigned char *start,
	unsigned char tag, const void *bytes, size_t size);

/* Seconds since 1970. */
int64_t certificate_seconds_of(const mbedtls_x509_time *at);

/* Whether the private key is that of the public key. */
bool certificate_is_pair(const mbedtls_pk_context *public,
	const mbedtls_pk_context *key);
