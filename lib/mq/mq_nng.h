/* Shared by the server and the client of mq.h: nng's errors, URLs and TLS.
 * Private to mq*.c. */
#pragma once

#include "lib/error.h"
#include "lib/tls/tls.h"

#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* nng's endpoints count failures but do not report them. Returns the index of
 * the first named counter that grew since the last call, or -1. seen keeps the
 * counts. */
int mq_failure_since(uint64_t *seen, nng_stat *endpoint,
	const char *const *stats, size_t count);

/* Converts an nng error to a negative errno value. */
int mq_errno(int nng);

/* The words for an nng error. nng has none for errors of the resolver. */
const char *mq_error_text(int nng);

/* Starts a listener for a checked URL. Without a host it serves all families
 * that the machine has: nng alone would take IPv4 if there is any. config NULL:
 * without TLS. Returns 0 or an nng error. */
must_check int mq_listen(nng_listener *out, nng_socket socket, const char *url,
	nng_tls_config *config);

/* -EINVAL: unsupported URL, or one that does not match tls. */
must_check int mq_check_url(const char *url, const struct tls_material *tls,
	struct error *err);

/* The host of a checked URL, without brackets. The caller frees it. */
char *mq_host(const char *url);

/* Makes a configuration with the PEM texts and TLS 1.2 or 1.3. A server with a
 * CA requires certificates of its clients. Returns 0 or an
 * nng error. The caller frees *config in either case. */
must_check int mq_tls_config(nng_tls_config **config, nng_tls_mode mode,
	const struct tls_material *tls);

/* The configurations of an endpoint. nng takes the current one for each new
 * connection, without a lock, so the one before must live a little longer: it
 * lives until the next change. */
struct mq_tls {
	nng_tls_config *now, *before; /* or NULL */
};

/* Takes over a configuration that the endpoint uses from now on. */
void mq_tls_replace(struct mq_tls *tls, nng_tls_config *config);

void mq_tls_fini(struct mq_tls *tls); /* zeroed is fine */

/* Closes a socket and waits up to MQ_CLOSE_MS: a message that arrives just then
 * can block nng 1.5.2 in nng_close() (nanomsg/nng pull request 1636, fixed in
 * 1.6). False: the socket is still closing, and `owner`, which its callbacks
 * may still use, must not be freed. */
enum { MQ_CLOSE_MS = 1000 };
must_check bool mq_close_socket(nng_socket socket, void *owner);
