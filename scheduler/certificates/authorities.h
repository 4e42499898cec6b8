/* The two authorities of an installation, as the Secret plimsoll-ca holds them:
 * one signs the certificates of servers, the other those of clients, so that no
 * agent can pass as a server. Pure. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "lib/tls/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUTHORITIES_SECRET "plimsoll-ca"

/* The lifetime of authorities that are made or renewed here, and how long
 * before its end an authority is renewed at the latest. The alert
 * PlimsollAuthorityExpires comes 90 days before. */
enum { AUTHORITIES_DAYS = 3650, AUTHORITIES_RENEW_DAYS = 120 };

struct authorities {
	struct tls_material servers, clients; /* cert and key alone */
	char *version;			      /* of the Secret */
};

void authorities_fini(struct authorities *authorities); /* zeroed is fine */

/* Reads the Secret, a JSON text. *holds_some is false if the Secret has none of
 * the authorities' keys; then only version is set. The caller calls
 * authorities_fini() on success.
 * -EBADMSG: not a Secret, or some of its keys are missing or are no text. */
must_check int authorities_read(struct authorities *out, bool *holds_some,
	const char *secret, size_t len, struct error *err);

/* Whether both can sign what is valid until until_s, in seconds since 1970. One
 * that ends before that, or within AUTHORITIES_RENEW_DAYS of from_s, is renewed
 * first, and *has_renewed becomes true. Its new certificate has the same key
 * and signs from now on; the old one stays behind it, so nobody has to be told
 * of the new one in time. The sentence names the Secret and the authority; for
 * the codes see certificate_check_authority() and
 * certificate_renew_authority(). */
must_check int authorities_keep(struct authorities *authorities,
	bool *has_renewed, int64_t from_s, int64_t until_s, struct error *err);

/* Makes both, valid from from_s for AUTHORITIES_DAYS. version stays as it is.
 * For the codes see certificate_make_authority(). */
must_check int authorities_make(struct authorities *authorities, int64_t from_s,
	struct error *err);

/* Appends the merge patch that stores them, unless the Secret has another
 * version by then. */
void authorities_write(struct buffer *out,
	const struct authorities *authorities);
