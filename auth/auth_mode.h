/* The flags of daemons about authentication: --http-auth, --wire-auth. */
#pragma once

#include "lib/error.h"
#include "lib/tls/tls.h"

/* How a client is authenticated and authorized. */
enum auth_mode { AUTH_NONE, AUTH_KUBERNETES };

/* The words for them, as the choices of an option. */
extern const char auth_mode_choices[];

/* Checks --http with its --http-tls-cert, --http-tls-key and --http-auth
 * (an enum auth_mode). -EINVAL: half a pair of TLS files, or tokens that
 * everybody on the network could read. */
must_check int auth_mode_check_http(const char *address,
	const struct tls_files *tls, int mode, struct error *err);
