#include "lib/mq.h"

#include "lib/clock.h"
#include "lib/host_lookup.h"
#include "lib/inbox.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq_nng.h"

#include <errno.h>
#include <nng/protocol/reqrep0/req.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* nng waits a random time up to a bound that doubles from the first to the
 * second value, so the clients of a fleet do not all return at once. */
enum { RECONNECT_MIN_MS = 1000, RECONNECT_MAX_MS = 15000 };
enum { FIRST_DIAL_SPREAD_MS = 500 };
enum { DIAL_FAILURES = 6 };
enum { CHECK_MS = 15000, CLOCK_BACK_US = 1000000, UNANSWERED_MAX = 2 };

enum dial_kind { DIAL_PLAIN, DIAL_TLS, DIAL_TLS_NO_CERT };

struct mq_client {
	struct inbox_item item;
	nng_socket socket;
	nng_dialer dialer;
	nng_tls_config *tls; /* NULL without TLS */
	nng_ctx ctx;
	nng_aio *aio;
	struct inbox *inbox;
	struct timer *first_dial, *check;
	int64_t ahead_us; /* wall minus monotonic clock at the last check */
	bool was_lost;	  /* there was no connection at the last check */
	unsigned int unanswered; /* requests that timed out since a reply */
	nng_msg *reply; /* set on nng's thread, read on the loop thread */
	bool timed_out; /* the same, for the request that ended */
	bool sending;	/* true: sending; false: receiving */
	bool busy;	/* a request is pending; loop thread only */
	_Atomic int pipes;
	struct mq_client_options options;
	char *url; /* for reconnecting */
	char *host;
	struct host_lookup *lookup; /* or NULL: a numeric address */
	const char *why_unresolved; /* the last answer; NULL: it is resolved */
	bool is_looked_up;	    /* there was an answer */
	char unresolved[320];	    /* an error that names the host */
	enum dial_kind kind;
	uint64_t failures[DIAL_FAILURES]; /* nng's counters at the last call */
	int last_failure; /* an index of dial_texts; -1: none so far */
};

/* On an nng thread: after sending, receives; otherwise wakes the loop. */
static void on_client(void *argument)
{
	struct mq_client *client = argument;
	int r = nng_aio_result(client->aio);

	if (client->sending && r == 0) {
		client->sending = false;
		nng_ctx_recv(client->ctx, client->aio);
		return;
	}
	if (client->sending) {
		nng_msg_free(nng_aio_get_msg(client->aio));
	} else if (r == 0) {
		client->reply = nng_aio_get_msg(client->aio);
	}
	client->timed_out = r == NNG_ETIMEDOUT;
	inbox_push(client->inbox, &client->item);
}

static void deliver_reply(void *owner, struct inbox_item *item)
{
	struct mq_client *client = owner;
	nng_msg *msg = take_ptr(client->reply);

	(void)item;
	client->busy = false;
	client->unanswered = client->timed_out ? client->unanswered + 1 : 0;
	if (client->options.on_reply != NULL) {
		client->options.on_reply(client->options.owner,
			msg == NULL ? NULL : nng_msg_body(msg),
			msg == NULL ? 0 : nng_msg_len(msg));
	}
	nng_msg_free(msg);
}

static void on_pipe(nng_pipe pipe, nng_pipe_ev event, void *argument)
{
	struct mq_client *client = argument;

	(void)pipe;
	(void)atomic_fetch_add(&client->pipes,
		event == NNG_PIPE_EV_ADD_POST ? 1 : -1);
}

static void on_first_dial(void *owner)
{
	struct mq_client *client = owner;

	(void)nng_dialer_start(client->dialer, NNG_FLAG_NONBLOCK);
}

static int set_client_options(struct mq_client *client)
{
	int r;

	r = nng_socket_set_size(client->socket, NNG_OPT_RECVMAXSZ, MQ_RECV_MAX);
	if (r == 0) {
		r = nng_socket_set_ms(client->socket, NNG_OPT_RECONNMINT,
			RECONNECT_MIN_MS);
	}
	if (r == 0) {
		r = nng_socket_set_ms(client->socket, NNG_OPT_RECONNMAXT,
			RECONNECT_MAX_MS);
	}
	if (r == 0) {
		/* With resending off, a lost connection ends the request at
		 * once. A request that was sent again would hold an outdated
		 * report and time. */
		r = nng_socket_set_ms(client->socket, NNG_OPT_REQ_RESENDTIME,
			NNG_DURATION_INFINITE);
	}
	if (r == 0) {
		r = nng_pipe_notify(client->socket, NNG_PIPE_EV_ADD_POST,
			on_pipe, client);
	}
	if (r == 0) {
		r = nng_pipe_notify(client->socket, NNG_PIPE_EV_REM_POST,
			on_pipe, client);
	}
	return r;
}

static int make_client_tls(struct mq_client *client)
{
	const struct mq_client_options *options = &client->options;
	scoped_free char *name = options->server_name == NULL
		? xstrdup(client->host)
		: xstrdup(options->server_name);
	int r = mq_tls_config(&client->tls, NNG_TLS_MODE_CLIENT, options->tls);

	if (r == 0) {
		r = nng_tls_config_auth_mode(client->tls,
			NNG_TLS_AUTH_MODE_REQUIRED);
	}
	if (r == 0) {
		/* Without a name nng accepts any certificate of the CA. */
		r = nng_tls_config_server_name(client->tls, name);
	}
	return r;
}

static int make_dialer(struct mq_client *client, nng_dialer *dialer)
{
	int r = nng_dialer_create(dialer, client->socket, client->url);

	if (r == 0 && client->tls != NULL) {
		r = nng_dialer_set_ptr(*dialer, NNG_OPT_TLS_CONFIG,
			client->tls);
	}
	return r;
}

/* Closing the old dialer ends its wait before the next attempt. */
static void redial(struct mq_client *client)
{
	nng_dialer dialer;

	if (make_dialer(client, &dialer) != 0) {
		return; /* no memory: the old dialer continues */
	}
	(void)nng_dialer_close(client->dialer);
	client->dialer = dialer;
	memset(client->failures, 0, sizeof(client->failures));
	(void)nng_dialer_start(dialer, NNG_FLAG_NONBLOCK);
}

static int64_t wall_clock_ahead_us(void)
{
	return (int64_t)clock_wall_us() - (int64_t)clock_monotonic_us();
}

/* Dials anew where nng's dialer may wait forever:
 * - Debian's nng times its waits by the wall clock. If that is set back, for
 *   example by the first NTP synchronization after boot, a pending wait would
 *   last until the clock reaches its old value again.
 * - A dialer of nng 1.5.2 gives up if its peer ends the connection between the
 *   TLS handshake and nng's own header: the dialer takes that for its own
 *   close. An aggregator that is killed does that, and so do load balancers.
 *   A dialer that has not given up tries again between two checks.
 * - A connection over TLS may end without nng's notice, or its host may be gone
 *   without a word. Then requests time out one after the other. */
static void check_dialer(void *owner)
{
	struct mq_client *client = owner;
	int64_t ahead_us = wall_clock_ahead_us();
	bool is_back = ahead_us < client->ahead_us - CLOCK_BACK_US;
	bool is_lost = !mq_client_connected(client);

	client->ahead_us = ahead_us;
	if ((is_lost && (is_back || client->was_lost)) ||
		client->unanswered >= UNANSWERED_MAX) {
		redial(client);
		client->unanswered = 0;
		is_lost = false;
	}
	client->was_lost = is_lost;
	if (is_back) {
		nng_aio_cancel(client->aio);
	}
}

static int open_client(struct mq_client *client)
{
	int r = nng_req0_open(&client->socket);

	if (r == 0) {
		r = set_client_options(client);
	}
	if (r == 0) {
		r = nng_ctx_open(&client->ctx, client->socket);
	}
	if (r == 0) {
		r = nng_aio_alloc(&client->aio, on_client, client);
	}
	if (r == 0) {
		nng_aio_set_timeout(client->aio,
			(nng_duration)client->options.timeout_ms);
	}
	if (r == 0 && client->options.tls != NULL) {
		r = make_client_tls(client);
	}
	client->options.tls = NULL; /* it was only borrowed */
	if (r == 0) {
		r = make_dialer(client, &client->dialer);
	}
	return r;
}

static void client_free(struct mq_client *client)
{
	bool is_closed;

	client->options.on_reply = NULL;
	if (client->aio != NULL) {
		nng_aio_stop(client->aio);
	}
	is_closed = mq_close_socket(client->socket, client);
	nng_aio_free(client->aio);
	inbox_close(client->inbox);
	timer_close(client->first_dial);
	timer_close(client->check);
	if (client->tls != NULL) {
		nng_tls_config_free(client->tls);
	}
	host_lookup_free(client->lookup);
	free(client->host);
	free(client->url);
	if (is_closed) {
		free(client);
	}
}

int mq_client_new(struct mq_client **out, uv_loop_t *loop,
	const struct mq_client_options *options, struct error *err)
{
	struct mq_client *client;
	unsigned int spread = 0;
	int r = mq_check_url(options->url, options->tls, err);

	if (r < 0) {
		return r;
	}
	client = xcalloc(1, sizeof(*client));
	client->options = *options;
	client->url = xstrdup(options->url);
	client->options.url = client->url;
	client->host = mq_host(options->url);
	client->lookup = host_lookup_start(client->host);
	if (options->tls != NULL) {
		client->kind = options->tls->cert == NULL ? DIAL_TLS_NO_CERT
							  : DIAL_TLS;
	}
	client->last_failure = -1;
	client->inbox = inbox_new(loop, deliver_reply, client);
	client->first_dial = timer_new(loop, on_first_dial, client);
	client->check = timer_new(loop, check_dialer, client);
	client->ahead_us = wall_clock_ahead_us();
	r = open_client(client);
	if (r != 0) {
		client_free(client);
		return error_set(err, -EINVAL, "cannot connect to '%s': %s",
			options->url, nng_strerror(r));
	}
	if (uv_random(NULL, NULL, &spread, sizeof(spread), 0, NULL) != 0) {
		spread = 0;
	}
	timer_start(client->first_dial, spread % FIRST_DIAL_SPREAD_MS, 0);
	timer_start(client->check, CHECK_MS, CHECK_MS);
	*out = client;
	return 0;
}

void mq_client_send(struct mq_client *client, const uint8_t *bytes, size_t len)
{
	nng_msg *msg;

	if (nng_msg_alloc(&msg, 0) != 0 ||
		nng_msg_append(msg, bytes, len) != 0) {
		abort();
	}
	client->busy = true;
	client->sending = true;
	nng_aio_set_msg(client->aio, msg);
	nng_ctx_send(client->ctx, client->aio);
}

bool mq_client_busy(const struct mq_client *client)
{
	return client->busy;
}

bool mq_client_connected(const struct mq_client *client)
{
	return atomic_load(&client->pipes) > 0;
}

static const char *const dial_stats[DIAL_FAILURES] = { "auth", "proto",
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
enum { OTHER_FAILURE = DIAL_FAILURES - 1 };
static const char *const dial_texts[][DIAL_FAILURES] = {
	[DIAL_PLAIN] = { other_protocol, other_protocol, refused, timed_out,
		closed, plain_unreachable },
	[DIAL_TLS] = { handshake, other_protocol, refused, timed_out, closed,
		unreachable },
	[DIAL_TLS_NO_CERT] = { handshake, other_protocol, refused, timed_out,
		closed, no_cert_unreachable },
};

/* Explains a failure that nng counts as "other", by the resolver's last
 * answer. */
static const char *explain_other(struct mq_client *client)
{
	if (host_lookup_is_over(client->lookup)) {
		client->why_unresolved = host_lookup_error(client->lookup);
		client->is_looked_up = true;
		host_lookup_free(client->lookup);
		client->lookup = host_lookup_start(client->host);
	}
	if (client->is_looked_up && client->why_unresolved == NULL) {
		return dial_texts[client->kind][OTHER_FAILURE];
	}
	(void)snprintf(client->unresolved, sizeof(client->unresolved),
		"the host '%s' %s%s", client->host,
		client->is_looked_up ? "cannot be resolved: "
				     : "is being resolved",
		client->is_looked_up ? client->why_unresolved : "");
	return client->unresolved;
}

const char *mq_client_last_error(struct mq_client *client)
{
	int failure = -1;
	nng_stat *all = NULL;
	nng_stat *dialer;

	if (mq_client_connected(client)) {
		return "";
	}
	if (nng_stats_get(&all) == 0) {
		dialer = nng_stat_find_dialer(all, client->dialer);
		if (dialer != NULL) {
			failure = mq_failure_since(client->failures, dialer,
				dial_stats, DIAL_FAILURES);
		}
		nng_stats_free(all);
	}
	if (failure >= 0) {
		client->last_failure = failure;
	}
	if (client->last_failure == OTHER_FAILURE) {
		return explain_other(client);
	}
	return client->last_failure < 0
		? no_response
		: dial_texts[client->kind][client->last_failure];
}

void mq_client_close(struct mq_client *client)
{
	if (client != NULL) {
		client_free(client);
	}
}
