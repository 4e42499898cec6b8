/* The certificate of an HTTPS server, which may change while it runs: each TLS
 * handshake takes the one of that moment. Private to lib/http/httpd*.c. */
#pragma once

#include "lib/error.h"
#include "lib/tls/tls.h"

struct httpd_tls;
struct MHD_OptionItem;

/* Copies the material.
 * -EINVAL: certificate and key cannot be used, or do not match. */
must_check int httpd_tls_new(struct httpd_tls **out,
	const struct tls_material *material, struct error *err);

/* Replaces the certificate for all later handshakes. Errors as httpd_tls_new();
 * the old one stays. */
must_check int httpd_tls_set(struct httpd_tls *tls,
	const struct tls_material *material, struct error *err);

void httpd_tls_free(struct httpd_tls *tls); /* NULL is fine */

/* The option that makes libmicrohttpd ask for the certificate. The context of
 * each connection begins with a struct httpd_tls_context. */
struct MHD_OptionItem httpd_tls_option(void);

struct httpd_tls_context {
	struct httpd_tls *tls; /* NULL without TLS */
};

/* The version of GnuTLS that the program runs with. */
const char *httpd_tls_library_version(void);
