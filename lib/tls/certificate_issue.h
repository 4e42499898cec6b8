/* Makes authorities, and the certificates that they sign: X.509 v3, ECDSA on
 * P-256, SHA-256, random serial numbers of 127 bits.
 *
 * Only certificate*.c include mbedtls. All texts are PEM. tls_fini() frees
 * what is made here and overwrites its key. No error contains a part of a
 * key. */
#pragma once

#include "lib/error.h"
#include "lib/tls/tls.h"

#include <stddef.h>
#include <stdint.h>

/* Seconds since 1970, from 1950 to 9999. */
struct certificate_validity {
	int64_t from_s, until_s;
};

enum certificate_use { CERTIFICATE_FOR_SERVERS, CERTIFICATE_FOR_CLIENTS };

struct certificate_request {
	enum certificate_use use;
	const char *common_name;      /* letters, digits and "-.:" */
	const char *const *dns_names; /* the subjectAltName; at least one */
	size_t dns_count;
	struct certificate_validity validity;
};

/* An authority with this common name: a certificate that has signed itself, and
 * its key. out->ca stays NULL. -EINVAL: mbedtls failed; the sentence has its
 * number. */
must_check int certificate_make_authority(struct tls_material *out,
	const char *common_name, const struct certificate_validity *validity,
	struct error *err);

/* Whether the authority can sign what is valid until until_s. The first
 * certificate of authority->cert signs; others may follow, which are trusted
 * too.
 * -EINVAL: a text cannot be read, the key is another certificate's, or the
 * certificate's key usage does not allow it to sign others. -EKEYEXPIRED: it
 * ends before until_s; the sentence says when. */
must_check int certificate_check_authority(const struct tls_material *authority,
	int64_t until_s, struct error *err);

/* Another certificate of the authority, with its name and its key: what either
 * of them has signed is valid for those who trust the other. out->cert is the
 * new certificate, with all of authority->cert behind it; out->key is a copy of
 * authority->key; out->ca stays NULL.
 * -EINVAL: as above, another authority has signed it, or its name cannot be
 * written again as it is. */
must_check int certificate_renew_authority(struct tls_material *out,
	const struct tls_material *authority,
	const struct certificate_validity *validity, struct error *err);

/* A new key and its certificate. out->ca becomes a copy of authority->cert.
 * -EINVAL: as above, or the authority's name cannot be written again as it
 * is. */
must_check int certificate_sign(struct tls_material *out,
	const struct certificate_request *request,
	const struct tls_material *authority, struct error *err);
