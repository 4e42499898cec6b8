#include "lib/tls/certificate.h"

#include "lib/memory.h"
#include "lib/tls/certificate_private.h"

#include <errno.h>
#include <mbedtls/pk.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crt.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* ---- shared with certificate_issue.c ---- */

int certificate_draw(void *owner, unsigned char *out, size_t len)
{
	(void)owner;
	for (size_t done = 0; done < len;) {
		ssize_t got = getrandom(out + done, len - done, 0);

		if (got < 0 && errno != EINTR) {
			return -1;
		}
		done += got > 0 ? (size_t)got : 0;
	}
	return 0;
}

int certificate_parse_key(mbedtls_pk_context *out, const char *pem)
{
	const unsigned char *bytes = (const unsigned char *)pem;
	size_t size = strlen(pem) + 1; /* mbedtls counts the NUL */

#if MBEDTLS_VERSION_MAJOR >= 3
	return mbedtls_pk_parse_key(out, bytes, size, NULL, 0, certificate_draw,
		NULL);
#else
	return mbedtls_pk_parse_key(out, bytes, size, NULL, 0);
#endif
}

bool certificate_is_pair(const mbedtls_pk_context *public,
	const mbedtls_pk_context *key)
{
#if MBEDTLS_VERSION_MAJOR >= 3
	return mbedtls_pk_check_pair(public, key, certificate_draw, NULL) == 0;
#else
	return mbedtls_pk_check_pair(public, key) == 0;
#endif
}

int certificate_parse_chain(mbedtls_x509_crt *out, const char *pem)
{
	return mbedtls_x509_crt_parse(out, (const unsigned char *)pem,
		strlen(pem) + 1);
}

int64_t certificate_seconds_of(const mbedtls_x509_time *at)
{
	struct tm tm = { .tm_year = at->year - 1900,
		.tm_mon = at->mon - 1,
		.tm_mday = at->day,
		.tm_hour = at->hour,
		.tm_min = at->min,
		.tm_sec = at->sec };

	return timegm(&tm);
}

/* ---- what a text holds ---- */

static size_t count_of_text(const char *pem, const char *text)
{
	size_t count = 0;

	for (const char *at = strstr(pem, text); at != NULL;
		at = strstr(at + 1, text)) {
		count++;
	}
	return count;
}

bool certificate_is_whole(const char *pem)
{
	size_t begun = count_of_text(pem, "-----BEGIN ");

	return begun > 0 && begun == count_of_text(pem, "-----END ");
}

/* mbedtls ignores a last certificate without an end, as a file has that is
 * being written. So this counts the beginnings. */
static size_t count_begun(const char *pem)
{
	return count_of_text(pem, "-----BEGIN CERTIFICATE-----");
}

/* A positive result of mbedtls is the number of certificates that it skipped;
 * nng refuses the text then. */
static int read_chain(mbedtls_x509_crt *out, const char *pem, struct error *err)
{
	size_t count = 0;
	int r;

	mbedtls_x509_crt_init(out);
	r = certificate_parse_chain(out, pem);
	for (const mbedtls_x509_crt *c = out; r == 0 && c != NULL;
		c = c->next) {
		count++;
	}
	if (r < 0) {
		return error_set(err, -EINVAL,
			"no certificate that can be read: mbedtls error "
			"-0x%04x",
			(unsigned)-r);
	}
	if (r > 0 || count != count_begun(pem)) {
		return error_set(err, -EINVAL,
			"not all certificates can be read");
	}
	return 0;
}

static int read_ends(int64_t *first_s, int64_t *last_s, const char *pem,
	struct error *err)
{
	scoped_chain mbedtls_x509_crt chain;
	int r = read_chain(&chain, pem, err);

	if (r < 0) {
		return r;
	}
	*first_s = *last_s = certificate_seconds_of(&chain.valid_to);
	for (const mbedtls_x509_crt *c = chain.next; c != NULL; c = c->next) {
		int64_t end_s = certificate_seconds_of(&c->valid_to);

		*first_s = end_s < *first_s ? end_s : *first_s;
		*last_s = end_s > *last_s ? end_s : *last_s;
	}
	return 0;
}

int certificate_expiry(int64_t *expiry_s, const char *pem, struct error *err)
{
	int64_t last_s;

	return read_ends(expiry_s, &last_s, pem, err);
}

int certificate_last_expiry(int64_t *expiry_s, const char *pem,
	struct error *err)
{
	int64_t first_s;

	return read_ends(&first_s, expiry_s, pem, err);
}

char *certificate_first(const char *pem)
{
	static const char mark[] = "-----END CERTIFICATE-----";
	const char *end = strstr(pem, mark);

	return end == NULL ? xstrdup(pem)
			   : xasprintf("%.*s\n",
				     (int)(end - pem + (int)strlen(mark)), pem);
}

int certificate_expiry_of_first(int64_t *expiry_s, const char *pem,
	struct error *err)
{
	scoped_free char *first = certificate_first(pem);

	return certificate_expiry(expiry_s, first, err);
}

int certificate_check_pair(const char *cert, const char *key, struct error *err)
{
	scoped_chain mbedtls_x509_crt chain;
	scoped_key mbedtls_pk_context own;
	int r;

	mbedtls_pk_init(&own);
	r = read_chain(&chain, cert, err);
	if (r < 0) {
		return r;
	}
	if (certificate_parse_key(&own, key) != 0) {
		return error_set(err, -EINVAL,
			"the key cannot be read: it is neither ECDSA nor RSA, "
			"has a password, or is damaged");
	}
	if (!certificate_is_pair(&chain.pk, &own)) {
		return error_set(err, -EINVAL,
			"the key is not that of the certificate");
	}
	return 0;
}

int certificate_check_bundle(const char *pem, struct error *err)
{
	scoped_chain mbedtls_x509_crt chain;

	return read_chain(&chain, pem, err);
}

/* ---- trust ---- */

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
	r = certificate_parse_chain(&chain, cert);
	if (r == 0) {
		r = certificate_parse_chain(&list, authorities);
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

const char *certificate_library_version(void)
{
	static char text[16]; /* mbedtls writes 9 bytes at most */

	mbedtls_version_get_string(text);
	return text;
}
