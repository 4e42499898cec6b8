#include "lib/mq.h"

#include "lib/clock.h"
#include "lib/inbox.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq_nng.h"

#include <errno.h>
#include <nng/protocol/reqrep0/req.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* nng waits a random time between 0 and a bound that doubles from the first
 * to the second value: a fleet does not come back all at once. */
enum { RECONNECT_MIN_MS = 1000, RECONNECT_MAX_MS = 15000 };
enum { FIRST_DIAL_SPREAD_MS = 500 };
enum { DIAL_FAILURES = 6 };
enum { CLOCK_LOOK_MS = 15000, CLOCK_BACK_US = 1000000 };

enum dial_kind { DIAL_PLAIN, DIAL_TLS, DIAL_TLS_NO_CERT };

struct mq_client {
	struct inbox_item item;
	nng_socket socket;
	nng_dialer dialer;
	nng_tls_config *tls; /* NULL without TLS */
	nng_ctx ctx;
	nng_aio *aio;
	struct inbox *inbox;
	struct timer *first_dial, *clock_look;
	int64_t ahead_us; /* the wall clock's lead at the last look */
	nng_msg *answer;  /* set by the callback, read on the loop */
	bool sending;	  /* the step the callback is about */
	bool busy;	  /* a request is under way; the loop's */
	_Atomic int pipes;
	struct mq_client_options options;
	char *url; /* to dial it anew */
	enum dial_kind kind;
	uint64_t failures[DIAL_FAILURES]; /* as counted at the last look */
	const char *trouble;		  /* a literal */
};

/* On an nng thread: sent -> receive; received or failed -> tell the loop. */
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
		client->answer = nng_aio_get_msg(client->aio);
	}
	inbox_push(client->inbox, &client->item);
}

static void deliver_answer(void *owner, struct inbox_item *item)
{
	struct mq_client *client = owner;
	nng_msg *msg = take_ptr(client->answer);

	(void)item;
	client->busy = false;
	if (client->options.answer != NULL) {
		client->options.answer(client->options.owner,
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
		/* Without it a lost connection ends the request at once: what
		 * would be sent again is old by then, its time above all. */
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
		? mq_host(options->url)
		: xstrdup(options->server_name);
	int r = mq_tls_config(&client->tls, NNG_TLS_MODE_CLIENT, options->tls);

	if (r == 0) {
		r = nng_tls_config_auth_mode(client->tls,
			NNG_TLS_AUTH_MODE_REQUIRED);
	}
	if (r == 0) {
		/* Without it nng takes any certificate of the authority. */
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

/* The wait for the next dial ends with the dialer that waits. */
static void redial(struct mq_client *client)
{
	nng_dialer dialer;

	if (make_dialer(client, &dialer) != 0) {
		return; /* no memory: the old one dials, late */
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

/* Debian's nng waits by the wall clock, for the next dial and for an answer.
 * Where that is set back, as on a machine that has just asked for the time, a
 * wait that has begun would last until it is again what it was. */
static void look_at_clock(void *owner)
{
	struct mq_client *client = owner;
	int64_t ahead_us = wall_clock_ahead_us();
	bool is_back = ahead_us < client->ahead_us - CLOCK_BACK_US;

	client->ahead_us = ahead_us;
	if (!is_back) {
		return;
	}
	if (!mq_client_connected(client)) {
		redial(client);
	}
	nng_aio_cancel(client->aio);
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
	client->options.tls = NULL; /* it was borrowed */
	if (r == 0) {
		r = make_dialer(client, &client->dialer);
	}
	return r;
}

static void client_free(struct mq_client *client)
{
	bool is_closed;

	client->options.answer = NULL;
	if (client->aio != NULL) {
		nng_aio_stop(client->aio);
	}
	is_closed = mq_close_socket(client->socket, client);
	nng_aio_free(client->aio);
	inbox_close(client->inbox);
	timer_close(client->first_dial);
	timer_close(client->clock_look);
	if (client->tls != NULL) {
		nng_tls_config_free(client->tls);
	}
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
	if (options->tls != NULL) {
		client->kind = options->tls->cert == NULL ? DIAL_TLS_NO_CERT
							  : DIAL_TLS;
	}
	client->trouble =
		"there is no answer: the host is down, or its packets or ours "
		"are dropped";
	client->inbox = inbox_new(loop, deliver_answer, client);
	client->first_dial = timer_new(loop, on_first_dial, client);
	client->clock_look = timer_new(loop, look_at_clock, client);
	client->ahead_us = wall_clock_ahead_us();
	r = open_client(client);
	if (r != 0) {
		client_free(client);
		return error_set(err, -EINVAL, "cannot dial '%s': %s",
			options->url, nng_strerror(r));
	}
	if (uv_random(NULL, NULL, &spread, sizeof(spread), 0, NULL) != 0) {
		spread = 0;
	}
	timer_start(client->first_dial, spread % FIRST_DIAL_SPREAD_MS, 0);
	timer_start(client->clock_look, CLOCK_LOOK_MS, CLOCK_LOOK_MS);
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

static const char stranger[] = "the peer does not speak plimsoll's protocol";
static const char refused[] = "the connection was refused";
static const char late[] = "the connection timed out";
static const char cut_off[] = "the peer closed the connection";

static const char handshake[] =
	"the TLS handshake failed: the peer's certificate is not of an "
	"authority we trust or has another name, it does not accept our "
	"certificate, or it does not speak TLS";
static const char plain_unreachable[] =
	"the peer closed the connection, as one does that wants TLS, or the "
	"address cannot be reached or resolved";
static const char no_cert_unreachable[] =
	"the peer closed the connection, as one does that wants a certificate "
	"of ours, or the address cannot be reached or resolved";
static const char unreachable[] =
	"the peer closed the connection, or the address cannot be reached or "
	"resolved";

/* As nng 1.5.2 counts on a dialer: "auth" is a handshake that fails, whoever
 * is to blame and whatever the peer is; "other" a connection that the peer
 * closed before it was one, as a TLS server does with a client that shows no
 * certificate or sends no handshake, and each failure to find the host. */
static const char *const dial_texts[][DIAL_FAILURES] = {
	[DIAL_PLAIN] = { stranger, stranger, refused, late, cut_off,
		plain_unreachable },
	[DIAL_TLS] = { handshake, stranger, refused, late, cut_off,
		unreachable },
	[DIAL_TLS_NO_CERT] = { handshake, stranger, refused, late, cut_off,
		no_cert_unreachable },
};

const char *mq_client_trouble(struct mq_client *client)
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
		client->trouble = dial_texts[client->kind][failure];
	}
	return client->trouble;
}

void mq_client_close(struct mq_client *client)
{
	if (client != NULL) {
		client_free(client);
	}
}
