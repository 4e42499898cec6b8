/* Which key signed a certificate: its authorityKeyIdentifier (RFC 5280,
 * 4.2.1.1). It must equal the subjectKeyIdentifier of the authority, which the
 * authority's maker chose; mbedtls writes the SHA-1 of the key in its place.
 * OpenSSL and libcurl do not find the authority if the two differ. */
#pragma once

#include <mbedtls/x509_crt.h>

/* Writes it as the authority has it, or nothing if the authority has none.
 * Returns mbedtls' result. */
int certificate_set_authority_key_id(mbedtls_x509write_cert *out,
	const mbedtls_x509_crt *authority);

/* The same for another certificate of the authority itself: its
 * subjectKeyIdentifier. */
int certificate_copy_key_id(mbedtls_x509write_cert *out,
	const mbedtls_x509_crt *authority);
