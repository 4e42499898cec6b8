#include "lib/tls/certificate_trust.h"

#include <errno.h>
#include <mbedtls/x509_crt.h>
#include <stdbool.h>
#include <string.h>

#define scoped_chain __attribute__((cleanup(mbedtls_x509_crt_free)))

/* mbedtls counts the NUL, and returns the number of certificates that it
 * skipped. */
static int parse(mbedtls_x509_crt *out, const char *pem)
{
	return mbedtls_x509_crt_parse(out, (const unsigned char *)pem,
		strlen(pem) + 1);
}

/* mbedtls trusts only authorities; others also trust a certificate that is
 * itself on the list. */
static bool is_listed(const mbedtls_x509_crt *cert,
	const mbedtls_x509_crt *list)
{
	for (; list != NULL; list = list->next) {
		if (list->raw.len == cert->raw.len &&
			memcmp(list->raw.p, cert->raw.p, cert->raw.len) == 0) {
			return true;
		}
	}
	return false;
}

int certificate_check_trust(const char *cert, const char *authorities,
	struct error *err)
{
	const uint32_t by_date =
		MBEDTLS_X509_BADCERT_EXPIRED | MBEDTLS_X509_BADCERT_FUTURE;
	scoped_chain mbedtls_x509_crt chain;
	scoped_chain mbedtls_x509_crt list;
	uint32_t flags = 0;
	int r;

	mbedtls_x509_crt_init(&chain);
	mbedtls_x509_crt_init(&list);
	r = parse(&chain, cert);
	if (r == 0) {
		r = parse(&list, authorities);
	}
	if (r < 0) {
		return error_set(err, -EINVAL,
			"no certificate that can be read");
	}
	(void)mbedtls_x509_crt_verify(&chain, &list, NULL, NULL, &flags, NULL,
		NULL);
	if ((flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED) != 0 &&
		!is_listed(&chain, &list)) {
		return r > 0 ? error_set(err, -EINVAL,
				       "not all certificates can be read")
			     : error_set(err, -EKEYREJECTED,
				       "no authority has signed the "
				       "certificate");
	}
	if ((flags & by_date) != 0) {
		return error_set(err, -EKEYEXPIRED,
			"the certificate is not valid today");
	}
	return 0;
}
