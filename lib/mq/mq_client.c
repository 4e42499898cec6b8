#include "lib/mq/mq.h"

#include "lib/clock.h"
#include "lib/inbox.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq/mq_dial_error.h"
#include "lib/mq/mq_file.h"
#include "lib/mq/mq_nng.h"

#include <errno.h>
#include <nng/protocol/reqrep0/req.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* nng waits a random time up to a bound that doubles from the first to the
 * second value, so the clients of a fleet do not all return at once. */
enum { RECONNECT_MIN_MS = 1000, RECONNECT_MAX_MS = 15000 };
enum { FIRST_DIAL_SPREAD_MS = 500 };
enum { QUEUE_CHECK_MS = 10 };
enum { CHECK_MS = 15000, CLOCK_BACK_US = 1000000, UNANSWERED_MAX = 2 };

struct mq_client {
	struct inbox_item item;
	nng_socket socket;
	nng_dialer dialer;
	struct mq_tls tls; /* zeroed without TLS */
	nng_ctx ctx;
	nng_aio *aio;
	struct inbox *inbox;
	struct timer *first_dial, *check, *renewal, *queue_check;
	int64_t ahead_us; /* wall minus monotonic clock at the last check */
	bool was_lost;	  /* there was no connection at the last check */
	unsigned int unanswered; /* requests that timed out since a reply */
	nng_msg *queued;   /* waits for the end of the connection; or NULL */
	nng_msg *reply;	   /* set on nng's thread, read on the loop thread */
	bool timed_out;	   /* the same, for the request that ended */
	bool sending;	   /* true: sending; false: receiving */
	bool busy;	   /* a request is pending; loop thread only */
	bool has_to_renew; /* connect again when the request has ended */
	_Atomic int pipes;
	_Atomic int pipe_id; /* of the newest connection */
	int ended_id;	     /* of the connection that the client ended */
	struct mq_client_options options;
	char *url; /* for reconnecting */
	char *host;
	struct mq_dial_errors errors;
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

static void renew(struct mq_client *client);

static void deliver_reply(void *owner, struct inbox_item *item)
{
	struct mq_client *client = owner;
	nng_msg *msg = take_ptr(client->reply);

	(void)item;
	client->busy = false;
	client->unanswered = client->timed_out ? client->unanswered + 1 : 0;
	if (client->has_to_renew) {
		renew(client);
	}
	if (client->options.on_reply != NULL) {
		client->options.on_reply(client->options.owner,
			msg == NULL ? NULL : nng_msg_body(msg),
			msg == NULL ? 0 : nng_msg_len(msg));
	}
	nng_msg_free(msg);
}

/* ---- sending ---- */

/* The client has ended the connection, and nng has not noticed yet. A request
 * that is sent now would be lost with it. */
static bool is_ending(const struct mq_client *client)
{
	return atomic_load(&client->pipes) > 0 &&
		atomic_load(&client->pipe_id) == client->ended_id;
}

/* nng waits for a connection if there is none. */
static void start_send(struct mq_client *client, nng_msg *msg)
{
	client->sending = true;
	nng_aio_set_msg(client->aio, msg);
	nng_ctx_send(client->ctx, client->aio);
}

static void send_queued(struct mq_client *client)
{
	if (client->queued != NULL) {
		timer_stop(client->queue_check);
		start_send(client, take_ptr(client->queued));
	}
}

static void on_queue_check(void *owner)
{
	struct mq_client *client = owner;

	if (!is_ending(client)) {
		send_queued(client);
	}
}

void mq_client_send(struct mq_client *client, const uint8_t *bytes, size_t len)
{
	nng_msg *msg;

	if (nng_msg_alloc(&msg, 0) != 0 ||
		nng_msg_append(msg, bytes, len) != 0) {
		abort();
	}
	client->busy = true;
	if (is_ending(client)) {
		client->queued = msg;
		timer_start(client->queue_check, QUEUE_CHECK_MS,
			QUEUE_CHECK_MS);
	} else {
		start_send(client, msg);
	}
}

bool mq_client_busy(const struct mq_client *client)
{
	return client->busy;
}

/* ---- connections ---- */

static void on_pipe(nng_pipe pipe, nng_pipe_ev event, void *argument)
{
	struct mq_client *client = argument;

	if (event == NNG_PIPE_EV_ADD_POST) {
		atomic_store(&client->pipe_id, nng_pipe_id(pipe));
	}
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
	nng_socket socket = client->socket;
	int r = nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, MQ_RECV_MAX);

	if (r == 0) {
		r = nng_socket_set_ms(socket, NNG_OPT_RECONNMINT,
			RECONNECT_MIN_MS);
	}
	if (r == 0) {
		r = nng_socket_set_ms(socket, NNG_OPT_RECONNMAXT,
			RECONNECT_MAX_MS);
	}
	if (r == 0) {
		/* With resending off, a lost connection ends the request at
		 * once. A request that was sent again would hold an outdated
		 * report and time. */
		r = nng_socket_set_ms(socket, NNG_OPT_REQ_RESENDTIME,
			NNG_DURATION_INFINITE);
	}
	if (r == 0) {
		r = nng_pipe_notify(socket, NNG_PIPE_EV_ADD_POST, on_pipe,
			client);
	}
	if (r == 0) {
		r = nng_pipe_notify(socket, NNG_PIPE_EV_REM_POST, on_pipe,
			client);
	}
	return r;
}

static int make_client_tls(nng_tls_config **config,
	const struct mq_client *client, const struct tls_material *tls)
{
	const struct mq_client_options *options = &client->options;
	scoped_free char *name = options->server_name == NULL
		? xstrdup(client->host)
		: xstrdup(options->server_name);
	int r = mq_tls_config(config, NNG_TLS_MODE_CLIENT, tls);

	if (r == 0) {
		r = nng_tls_config_auth_mode(*config,
			NNG_TLS_AUTH_MODE_REQUIRED);
	}
	if (r == 0) {
		/* Without a name nng accepts any certificate of the CA. */
		r = nng_tls_config_server_name(*config, name);
	}
	return r;
}

/* Uses the material for all later connections. dialer: NULL for the first. */
static int use_tls(struct mq_client *client, const struct tls_material *tls,
	const nng_dialer *dialer)
{
	nng_tls_config *config = NULL;
	int r = make_client_tls(&config, client, tls);

	if (r == 0 && dialer != NULL) {
		size_t unused;

		r = nng_dialer_set_ptr(*dialer, NNG_OPT_TLS_CONFIG, config);
		/* A dialer of nng 1.5.2 takes its configuration under the
		 * endpoint's lock only; reading this option takes that lock. */
		(void)nng_dialer_get_size(*dialer, NNG_OPT_RECVMAXSZ, &unused);
	}
	if (r == 0) {
		mq_tls_replace(&client->tls, config);
		client->errors.kind =
			tls->cert == NULL ? MQ_DIAL_TLS_NO_CERT : MQ_DIAL_TLS;
	} else if (config != NULL) {
		nng_tls_config_free(config);
	}
	return r;
}

static int make_dialer(struct mq_client *client, nng_dialer *dialer)
{
	int r = nng_dialer_create(dialer, client->socket, client->url);

	if (r == 0 && client->tls.now != NULL) {
		r = nng_dialer_set_ptr(*dialer, NNG_OPT_TLS_CONFIG,
			client->tls.now);
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
	mq_dial_errors_restart(&client->errors);
	(void)nng_dialer_start(dialer, NNG_FLAG_NONBLOCK);
}

/* ---- other certificates ---- */

struct own_file {
	struct mq_address peer;
	uint16_t port;
	bool is_ended;
};

static void end_own_file(void *owner, int fd)
{
	struct own_file *own = owner;
	struct mq_address peer;

	if (mq_address_of_file(&peer, fd, own->port) &&
		mq_address_compare(&peer, &own->peer) == 0) {
		mq_file_end(fd);
		own->is_ended = true;
	}
}

/* Ends the connection; nng's dialer makes another within RECONNECT_MIN_MS.
 * Closing an endpoint of nng 1.5.2 may use freed memory, ending the connection
 * from outside does not. */
static void renew(struct mq_client *client)
{
	int id = atomic_load(&client->pipe_id);
	nng_pipe pipe = { .id = (uint32_t)id };
	struct mq_address local = { .port = 0 };
	struct own_file own = { .is_ended = false };

	client->has_to_renew = false;
	if (!mq_client_connected(client) ||
		!mq_address_of_pipe(&local, pipe, NNG_OPT_LOCADDR) ||
		!mq_address_of_pipe(&own.peer, pipe, NNG_OPT_REMADDR)) {
		return; /* it is connecting again already */
	}
	own.port = local.port;
	mq_files_visit(end_own_file, &own);
	if (own.is_ended) {
		client->ended_id = id;
	} else {
		redial(client); /* there is no /proc */
	}
}

static void on_renewal(void *owner)
{
	struct mq_client *client = owner;

	if (client->busy) {
		client->has_to_renew = true;
	} else {
		renew(client);
	}
}

/* A random number, so that the clients of a fleet differ. */
static uint64_t spread(unsigned int below)
{
	unsigned int number = 0;

	if (uv_random(NULL, NULL, &number, sizeof(number), 0, NULL) != 0) {
		number = 0;
	}
	return number % below;
}

int mq_client_set_tls(struct mq_client *client, const struct tls_material *tls,
	struct error *err)
{
	int r = client->tls.now == NULL ? NNG_ENOTSUP
					: use_tls(client, tls, &client->dialer);

	if (r != 0) {
		return error_set(err, -EINVAL,
			"cannot use the certificates for '%s': %s", client->url,
			mq_error_text(r));
	}
	timer_start(client->renewal, spread(MQ_RENEW_MS), 0);
	return 0;
}

/* ---- the clock, and dialers that give up ---- */

static int64_t wall_clock_ahead_us(void)
{
	return (int64_t)clock_wall_us() - (int64_t)clock_monotonic_us();
}

/* Dials again where nng's dialer may wait forever:
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
		send_queued(client);
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
		r = use_tls(client, client->options.tls, NULL);
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
	nng_msg_free(client->queued);
	inbox_close(client->inbox);
	timer_close(client->queue_check);
	timer_close(client->first_dial);
	timer_close(client->check);
	timer_close(client->renewal);
	mq_tls_fini(&client->tls);
	mq_dial_errors_fini(&client->errors);
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
	int r = mq_check_url(options->url, options->tls, err);

	if (r < 0) {
		return r;
	}
	client = xcalloc(1, sizeof(*client));
	client->options = *options;
	client->url = xstrdup(options->url);
	client->options.url = client->url;
	client->host = mq_host(options->url);
	mq_dial_errors_init(&client->errors, client->host);
	client->inbox = inbox_new(loop, deliver_reply, client);
	client->first_dial = timer_new(loop, on_first_dial, client);
	client->check = timer_new(loop, check_dialer, client);
	client->renewal = timer_new(loop, on_renewal, client);
	client->queue_check = timer_new(loop, on_queue_check, client);
	client->ahead_us = wall_clock_ahead_us();
	r = open_client(client);
	if (r != 0) {
		client_free(client);
		return error_set(err, -EINVAL, "cannot connect to '%s': %s",
			options->url, mq_error_text(r));
	}
	timer_start(client->first_dial, spread(FIRST_DIAL_SPREAD_MS), 0);
	timer_start(client->check, CHECK_MS, CHECK_MS);
	*out = client;
	return 0;
}

bool mq_client_connected(const struct mq_client *client)
{
	return atomic_load(&client->pipes) > 0 &&
		atomic_load(&client->pipe_id) != client->ended_id;
}

const char *mq_client_last_error(struct mq_client *client)
{
	return mq_client_connected(client)
		? ""
		: mq_dial_error(&client->errors, client->dialer);
}

void mq_client_close(struct mq_client *client)
{
	if (client != NULL) {
		client_free(client);
	}
}

const char *mq_library_version(void)
{
	return nng_version();
}
