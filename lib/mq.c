#include "lib/mq.h"

#include "lib/inbox.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/options.h"

#include <errno.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* nng waits a random time between 0 and a bound that doubles from the first
 * to the second value: a fleet does not come back all at once. */
enum { RECONNECT_MIN_MS = 1000, RECONNECT_MAX_MS = 15000 };
enum { FIRST_DIAL_SPREAD_MS = 500 };
enum { DIAL_FAILURES = 6 };
/* Replies handed to nng may still be on their way when a server closes. */
enum { LINGER_MS = 100 };
/* A reply waits only behind others to the same peer. One that asks on and on
 * and reads nothing would hold every context for ever, so it is cut off. */
enum { UNREAD_MS = 1000 };

static int nng_errno(int nng)
{
	switch (nng) {
	case NNG_EADDRINUSE:
		return -EADDRINUSE;
	case NNG_EADDRINVAL:
		return -EADDRNOTAVAIL;
	case NNG_ENOMEM:
		return -ENOMEM;
	case NNG_EPERM:
		return -EACCES;
	case NNG_EINVAL:
		return -EINVAL;
	default:
		return -EIO;
	}
}

static int check_url(const char *url, struct error *err)
{
	if (strncmp(url, "tls+tcp://", 10) == 0) {
		return error_set(err, -EINVAL,
			"'%s': TLS is not built in yet; use tcp://HOST:PORT",
			url);
	}
	if (strncmp(url, "tcp://", 6) != 0 || !options_has_port(url + 6)) {
		return error_set(err, -EINVAL,
			"'%s' is not of the form tcp://HOST:PORT", url);
	}
	return 0;
}

/* ---- server ---- */

enum slot_state { SLOT_RECEIVING, SLOT_SERVED, SLOT_REPLYING, SLOT_IDLE };

/* One context: receives, is served on the loop, replies, receives again. Each
 * step is the only one under way for its slot, so nothing here needs a lock. */
struct mq_request {
	struct inbox_item item;
	struct mq_server *server;
	nng_ctx ctx;
	nng_aio *aio;
	nng_msg *msg;  /* while SLOT_SERVED */
	nng_pipe pipe; /* while SLOT_REPLYING: where to */
	enum slot_state state;
};

struct mq_server {
	nng_socket socket;
	nng_listener listener;
	struct inbox *inbox;
	struct timer *linger;
	struct mq_request *slots;
	size_t slot_count;
	mq_serve serve;
	void *owner;
	uint16_t port;
	_Atomic bool closing;
};

static void receive(struct mq_request *slot)
{
	slot->state = SLOT_RECEIVING;
	nng_aio_set_timeout(slot->aio, NNG_DURATION_INFINITE);
	nng_ctx_recv(slot->ctx, slot->aio);
}

/* On an nng thread. */
static void on_slot(void *argument)
{
	struct mq_request *slot = argument;
	int r = nng_aio_result(slot->aio);

	if (slot->state == SLOT_REPLYING && r != 0) {
		nng_msg_free(nng_aio_get_msg(slot->aio));
	}
	if (slot->state == SLOT_REPLYING && r == NNG_ETIMEDOUT) {
		(void)nng_pipe_close(slot->pipe);
	}
	if (slot->state == SLOT_RECEIVING && r == 0) {
		slot->msg = nng_aio_get_msg(slot->aio);
		slot->state = SLOT_SERVED;
		inbox_push(slot->server->inbox, &slot->item);
		return;
	}
	if (r == NNG_ECLOSED || r == NNG_ECANCELED ||
		atomic_load(&slot->server->closing)) {
		slot->state = SLOT_IDLE;
		return;
	}
	receive(slot);
}

static void deliver_request(void *owner, struct inbox_item *item)
{
	struct mq_server *server = owner;
	struct mq_request *slot = (struct mq_request *)item;

	if (atomic_load(&server->closing)) {
		return; /* its message is freed with the slot */
	}
	server->serve(server->owner, slot, nng_msg_body(slot->msg),
		nng_msg_len(slot->msg));
}

static int open_slot(struct mq_server *server, struct mq_request *slot)
{
	int r;

	slot->server = server;
	slot->state = SLOT_IDLE;
	r = nng_ctx_open(&slot->ctx, server->socket);
	return r != 0 ? r : nng_aio_alloc(&slot->aio, on_slot, slot);
}

static int start_listener(struct mq_server *server, const char *url)
{
	int port = 0;
	int r = nng_listener_create(&server->listener, server->socket, url);

	if (r == 0) {
		r = nng_listener_start(server->listener, 0);
	}
	if (r == 0) {
		r = nng_listener_get_int(server->listener,
			NNG_OPT_TCP_BOUND_PORT, &port);
	}
	server->port = (uint16_t)port;
	return r;
}

/* After nng_close() every operation ends; waiting for each makes sure that no
 * callback runs any more. */
static void server_free(struct mq_server *server)
{
	(void)nng_close(server->socket);
	for (size_t i = 0; i < server->slot_count; i++) {
		struct mq_request *slot = &server->slots[i];

		if (slot->aio != NULL) {
			nng_aio_wait(slot->aio);
			nng_aio_free(slot->aio);
		}
	}
	inbox_close(server->inbox);
	for (size_t i = 0; i < server->slot_count; i++) {
		nng_msg_free(server->slots[i].msg);
	}
	timer_close(server->linger);
	free(server->slots);
	free(server);
}

static void on_linger(void *owner)
{
	server_free(owner);
}

int mq_server_new(struct mq_server **out, uv_loop_t *loop,
	const struct mq_server_options *options, struct error *err)
{
	struct mq_server *server;
	int r = check_url(options->url, err);

	if (r < 0) {
		return r;
	}
	server = xcalloc(1, sizeof(*server));
	server->serve = options->serve;
	server->owner = options->owner;
	server->slot_count = options->contexts;
	server->slots = xcalloc(server->slot_count, sizeof(*server->slots));
	server->inbox = inbox_new(loop, deliver_request, server);
	server->linger = timer_new(loop, on_linger, server);
	r = nng_rep0_open(&server->socket);
	if (r == 0) {
		r = nng_socket_set_size(server->socket, NNG_OPT_RECVMAXSZ,
			MQ_RECV_MAX);
	}
	for (size_t i = 0; r == 0 && i < server->slot_count; i++) {
		r = open_slot(server, &server->slots[i]);
	}
	if (r == 0) {
		r = start_listener(server, options->url);
	}
	if (r != 0) {
		atomic_store(&server->closing, true);
		server_free(server);
		return error_set(err, nng_errno(r), "cannot listen on '%s': %s",
			options->url, nng_strerror(r));
	}
	for (size_t i = 0; i < server->slot_count; i++) {
		receive(&server->slots[i]);
	}
	*out = server;
	return 0;
}

uint16_t mq_server_port(const struct mq_server *server)
{
	return server->port;
}

uint32_t mq_request_pipe(const struct mq_request *request)
{
	return (uint32_t)nng_pipe_id(nng_msg_get_pipe(request->msg));
}

void mq_reply(struct mq_request *request, const uint8_t *bytes, size_t len)
{
	nng_msg *msg = take_ptr(request->msg);

	nng_msg_clear(msg);
	if (nng_msg_append(msg, bytes, len) != 0) {
		abort(); /* out of memory, as everywhere */
	}
	request->pipe = nng_msg_get_pipe(msg);
	request->state = SLOT_REPLYING;
	nng_aio_set_timeout(request->aio, UNREAD_MS);
	nng_aio_set_msg(request->aio, msg);
	nng_ctx_send(request->ctx, request->aio);
}

void mq_server_close(struct mq_server *server)
{
	if (server == NULL || atomic_exchange(&server->closing, true)) {
		return;
	}
	timer_start(server->linger, LINGER_MS, 0);
}

/* ---- client ---- */

struct mq_client {
	struct inbox_item item;
	nng_socket socket;
	nng_dialer dialer;
	nng_ctx ctx;
	nng_aio *aio;
	struct inbox *inbox;
	struct timer *first_dial;
	nng_msg *answer; /* set by the callback, read on the loop */
	bool sending;	 /* the step the callback is about */
	bool busy;	 /* a request is under way; the loop's */
	_Atomic int pipes;
	struct mq_client_options options;
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
		r = nng_dialer_create(&client->dialer, client->socket,
			client->options.url);
	}
	return r;
}

static void client_free(struct mq_client *client)
{
	client->options.answer = NULL;
	if (client->aio != NULL) {
		nng_aio_stop(client->aio);
	}
	(void)nng_close(client->socket);
	nng_aio_free(client->aio);
	inbox_close(client->inbox);
	timer_close(client->first_dial);
	free(client);
}

int mq_client_new(struct mq_client **out, uv_loop_t *loop,
	const struct mq_client_options *options, struct error *err)
{
	struct mq_client *client;
	unsigned int spread = 0;
	int r = check_url(options->url, err);

	if (r < 0) {
		return r;
	}
	client = xcalloc(1, sizeof(*client));
	client->options = *options;
	client->trouble = "no connection yet";
	client->inbox = inbox_new(loop, deliver_answer, client);
	client->first_dial = timer_new(loop, on_first_dial, client);
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

/* nng's dialer reports nothing by itself, but it counts what went wrong. */
static const struct {
	const char *stat, *text;
} dial_failures[DIAL_FAILURES] = {
	{ "refused", "the connection was refused" },
	{ "timeout", "the connection timed out" },
	{ "auth", "the peer's certificate was not accepted" },
	{ "proto", "the peer does not speak plimsoll's protocol" },
	{ "disconnect", "the peer closed the connection" },
	{ "other",
		"the connection was lost, or the address cannot "
		"be reached or resolved" },
};

/* The counters are of the dialer's whole life: what grew since the last look
 * is what is wrong now. */
static void look_at_dialer(struct mq_client *client, nng_stat *dialer)
{
	for (size_t i = 0; i < DIAL_FAILURES; i++) {
		nng_stat *stat = nng_stat_find(dialer, dial_failures[i].stat);
		uint64_t count = stat == NULL ? 0 : nng_stat_value(stat);

		if (count > client->failures[i]) {
			client->trouble = dial_failures[i].text;
		}
		client->failures[i] = count;
	}
}

const char *mq_client_trouble(struct mq_client *client)
{
	nng_stat *all = NULL;
	nng_stat *dialer;

	if (mq_client_connected(client)) {
		return "";
	}
	if (nng_stats_get(&all) == 0) {
		dialer = nng_stat_find_dialer(all, client->dialer);
		if (dialer != NULL) {
			look_at_dialer(client, dialer);
		}
		nng_stats_free(all);
	}
	return client->trouble;
}

void mq_client_close(struct mq_client *client)
{
	if (client != NULL) {
		client_free(client);
	}
}
