#include "lib/mq/mq_dial_error.h"

#include "lib/mq/host_lookup.h"
#include "lib/mq/mq_nng.h"

#include <stdio.h>
#include <string.h>

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

void mq_dial_errors_init(struct mq_dial_errors *errors, const char *host)
{
	*errors = (struct mq_dial_errors){ .host = host,
		.lookup = host_lookup_start(host),
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
	if (host_lookup_is_over(errors->lookup)) {
		errors->why_unresolved = host_lookup_error(errors->lookup);
		errors->is_looked_up = true;
		host_lookup_free(errors->lookup);
		errors->lookup = host_lookup_start(errors->host);
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
	host_lookup_free(errors->lookup);
}
