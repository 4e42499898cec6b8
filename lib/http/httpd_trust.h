/* Certificates of an HTTPS server's clients: asks for them and verifies them.
 *
 * libmicrohttpd asks for client certificates only with
 * MHD_OPTION_HTTPS_MEM_TRUST, whose authorities never change, and leaves the
 * verdict to the program. Here each handshake asks, and goes on without a
 * certificate or with a strange one: the handler of the request decides. Each
 * request is verified against the authorities of that moment. On the loop
 * thread, but httpd_trust_ask(). Private to lib/http/httpd*.c. */
#pragma once

#include "lib/error.h"

#include <stddef.h>

struct httpd_trust;
struct MHD_Connection;

struct httpd_trust *httpd_trust_new(void);	  /* trusts nobody */
void httpd_trust_free(struct httpd_trust *trust); /* NULL is fine */

/* Replaces the authorities: PEM, one or more. -EINVAL: not that; the old ones
 * stay. */
must_check int httpd_trust_set(struct httpd_trust *trust, const char *pem,
	struct error *err);

/* To be called before the handshake of a connection: it shall ask for a
 * certificate. */
void httpd_trust_ask(struct MHD_Connection *connection);

/* Copies the common name of the connection's certificate, which is for clients
 * and which an authority vouches for now. -EACCES: there is none; the sentence
 * says why. */
must_check int httpd_trust_name(const struct httpd_trust *trust, char *out,
	size_t size, struct MHD_Connection *connection, struct error *err);
