#include "lib/mq/mq_dial_error.h"

#include "lib/memory.h"
#include "lib/mq/mq_nng.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static const char *const dial_stats[MQ_DIAL_FAILURES] = { "auth", "proto",
	"refused", "timeout", "disconnect", "other" };

static const char other_protocol[] =
	"the peer does not speak plimsoll's protocol";
static const char refused[] = "the connection was refused";
static const char no_response[] =
	"no response: the host is down or packets are dropped";
static const char timed_out[] = "the connection timed out";
static const char closed[] = "the peer closed the connection";

static const char handshake[] =
	"the TLS handshake failed: the peer's certificate is not trusted or "
	"has another name, the peer rejects the client certificate, or it does "
	"not speak TLS";
static const char plain_unreachable[] =
	"the peer closed the connection (it may require TLS), or the address "
	"cannot be reached";
static const char no_cert_unreachable[] =
	"the peer closed the connection (it may require a client certificate), "
	"or the address cannot be reached";
static const char unreachable[] =
	"the peer closed the connection, or the address cannot be reached";

/* How nng 1.5.2 counts on a dialer: "auth" is any failed TLS handshake. "other"
 * is a connection that the peer closed during setup, as a TLS server does if
 * the client has no certificate or speaks no TLS, an address without a route,
 * or a host name that cannot be resolved; a lookup of our own tells. */
enum { OTHER_FAILURE = MQ_DIAL_FAILURES - 1 };
static const char *const dial_texts[][MQ_DIAL_FAILURES] = {
	[MQ_DIAL_PLAIN] = { other_protocol, other_protocol, refused, timed_out,
		closed, plain_unreachable },
	[MQ_DIAL_TLS] = { handshake, other_protocol, refused, timed_out, closed,
		unreachable },
	[MQ_DIAL_TLS_NO_CERT] = { handshake, other_protocol, refused, timed_out,
		closed, no_cert_unreachable },
};

/* ---- the lookup ---- */

/* Finds out in the background whether a host name can be resolved. The resolver
 * may block for long, so it runs on a thread of its own, which nothing waits
 * for. */
struct host_lookup {
	char *host;
	_Atomic int users; /* the caller and the thread */
	_Atomic bool is_over;
	int result; /* of getaddrinfo(); set before is_over */
};

static void lookup_free(struct host_lookup *lookup)
{
	if (lookup != NULL && atomic_fetch_sub(&lookup->users, 1) == 1) {
		free(lookup->host);
		free(lookup);
	}
}

static void *resolve(void *argument)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct host_lookup *lookup = argument;
	struct addrinfo *found = NULL;

	lookup->result = getaddrinfo(lookup->host, NULL, &hints, &found);
	if (lookup->result == 0) {
		freeaddrinfo(found);
	}
	atomic_store(&lookup->is_over, true);
	lookup_free(lookup);
	return NULL;
}

static bool is_numeric(const char *host)
{
	struct in6_addr address;

	return inet_pton(AF_INET, host, &address) == 1 ||
		inet_pton(AF_INET6, host, &address) == 1;
}

/* NULL: the host is a numeric address, or no thread can be started. */
static struct host_lookup *lookup_start(const char *host)
{
	struct host_lookup *lookup;
	pthread_t thread;

	if (is_numeric(host)) {
		return NULL;
	}
	lookup = xcalloc(1, sizeof(*lookup));
	lookup->host = xstrdup(host);
	atomic_store(&lookup->users, 2);
	if (pthread_create(&thread, NULL, resolve, lookup) != 0) {
		atomic_store(&lookup->users, 1);
		lookup_free(lookup);
		return NULL;
	}
	(void)pthread_detach(thread);
	return lookup;
}

/* Whether the resolver has answered. NULL: true. */
static bool lookup_is_over(const struct host_lookup *lookup)
{
	return lookup == NULL || atomic_load(&lookup->is_over);
}

/* Why the host cannot be resolved, in the resolver's words; NULL: it can be
 * resolved, or is not known so far. */
static const char *lookup_error(const struct host_lookup *lookup)
{
	return lookup == NULL || !atomic_load(&lookup->is_over) ||
			lookup->result == 0
		? NULL
		: gai_strerror(lookup->result);
}

/* ---- interface ---- */

void mq_dial_errors_init(struct mq_dial_errors *errors, const char *host)
{
	*errors = (struct mq_dial_errors){ .host = host,
		.lookup = lookup_start(host),
		.last_failure = -1 };
}

void mq_dial_errors_restart(struct mq_dial_errors *errors)
{
	memset(errors->failures, 0, sizeof(errors->failures));
}

/* Explains a failure that nng counts as "other", by the resolver's last
 * answer. */
static const char *explain_other(struct mq_dial_errors *errors)
{
	if (lookup_is_over(errors->lookup)) {
		errors->why_unresolved = lookup_error(errors->lookup);
		errors->is_looked_up = true;
		lookup_free(errors->lookup);
		errors->lookup = lookup_start(errors->host);
	}
	if (errors->is_looked_up && errors->why_unresolved == NULL) {
		return dial_texts[errors->kind][OTHER_FAILURE];
	}
	(void)snprintf(errors->unresolved, sizeof(errors->unresolved),
		"the host '%s' %s%s", errors->host,
		errors->is_looked_up ? "cannot be resolved: "
				     : "is being resolved",
		errors->is_looked_up ? errors->why_unresolved : "");
	return errors->unresolved;
}

const char *mq_dial_error(struct mq_dial_errors *errors, nng_dialer dialer)
{
	int failure = -1;
	nng_stat *all = NULL;
	nng_stat *stats;

	if (nng_stats_get(&all) == 0) {
		stats = nng_stat_find_dialer(all, dialer);
		if (stats != NULL) {
			failure = mq_failure_since(errors->failures, stats,
				dial_stats, MQ_DIAL_FAILURES);
		}
		nng_stats_free(all);
	}
	if (failure >= 0) {
		errors->last_failure = failure;
	}
	if (errors->last_failure == OTHER_FAILURE) {
		return explain_other(errors);
	}
	return errors->last_failure < 0
		? no_response
		: dial_texts[errors->kind][errors->last_failure];
}

void mq_dial_errors_fini(struct mq_dial_errors *errors)
{
	lookup_free(errors->lookup);
}
