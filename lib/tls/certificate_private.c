#include "lib/tls/certificate_private.h"

#include <errno.h>
#include <mbedtls/version.h>
#include <string.h>
#include <sys/random.h>

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
