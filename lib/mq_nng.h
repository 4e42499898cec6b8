/* What server and client of lib/mq.h share: nng's errors, URLs and TLS. Private
 * to lib/mq*.c, which alone see nng. */
#pragma once

#include "lib/error.h"
#include "lib/tls.h"

#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* nng's endpoints report no failures, but they count them. The index of the
 * first of the named counters that grew since the last look at the endpoint,
 * whose counts are kept in seen; -1: none did. */
int mq_failure_since(uint64_t *seen, nng_stat *endpoint,
	const char *const *stats, size_t count);

/* The negative errno value for one of nng's errors. */
int mq_errno(int nng);

/* -EINVAL: not an URL we serve or dial, or it does not go with tls. */
must_check int mq_check_url(const char *url, const struct tls_material *tls,
	struct error *err);

/* The host of an URL that was checked, without brackets; the caller frees. */
char *mq_host(const char *url);

/* A configuration with the texts and TLS 1.2 or 1.3; an error of nng. *config
 * is to be freed in any case. */
must_check int mq_tls_config(nng_tls_config **config, nng_tls_mode mode,
	const struct tls_material *tls);

/* Closes a socket and waits for that, but not for ever: a message that arrives
 * just then can keep nng 1.5.2 in nng_close() (nanomsg/nng pull request 1636,
 * in 1.6). False: it is still closing after MQ_CLOSE_MS, and `kept`, which its
 * callbacks may still see, must not be freed. */
enum { MQ_CLOSE_MS = 1000 };
must_check bool mq_close_socket(nng_socket socket, void *kept);
