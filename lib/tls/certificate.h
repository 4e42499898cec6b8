/* Reads PEM texts of X.509 certificates: when they expire, whether a key
 * belongs to them, whether they can be a bundle of authorities, and whether
 * those who trust some authorities accept them.
 *
 * Only certificate*.c include mbedtls. nng uses the same library, so what is
 * readable here can also be used there. Keys are overwritten before they are
 * freed and never appear in errors. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Seconds since 1970 at which the first certificate of the text expires.
 * -EINVAL: a part of the text is no certificate, or there is none. */
must_check int certificate_expiry(int64_t *expiry_s, const char *pem,
	struct error *err);

/* The same of the first certificate alone; the others need not be readable. */
must_check int certificate_expiry_of_first(int64_t *expiry_s, const char *pem,
	struct error *err);

/* Seconds since 1970 at which the last certificate of the text expires: nothing
 * that these authorities have signed is valid after it. -EINVAL: as above. */
must_check int certificate_last_expiry(int64_t *expiry_s, const char *pem,
	struct error *err);

/* The text of the first certificate. The caller frees it. */
char *certificate_first(const char *pem);

/* Whether each part of the text has an end, and there is one. */
bool certificate_is_whole(const char *pem);

/* Whether the key is that of the first certificate.
 * -EINVAL: it is not, or one of them cannot be read. A key with a password
 * cannot be read. */
must_check int certificate_check_pair(const char *cert, const char *key,
	struct error *err);

/* Whether all parts of the text are certificates. -EINVAL: not. */
must_check int certificate_check_bundle(const char *pem, struct error *err);

/* Both texts are PEM: a certificate, perhaps with those that have signed it,
 * and the authorities. Names are not compared. mbedtls reads fewer certificates
 * than others do, so a refusal is a fact, and no answer is no refusal.
 * -EKEYREJECTED: none of the authorities has signed it. -EKEYEXPIRED: it, or
 * one that has signed it, is not valid today. -EINVAL: this cannot be told,
 * because not all of both texts can be read. */
must_check int certificate_check_trust(const char *cert,
	const char *authorities, struct error *err);

/* The version of mbedTLS that the program runs with. Not for several threads at
 * once. */
const char *certificate_library_version(void);
