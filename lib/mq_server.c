#include "lib/mq.h"

#include "lib/clock.h"
#include "lib/inbox.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq_nng.h"

#include <nng/protocol/reqrep0/rep.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Replies handed to nng may still be on their way when a server closes. */
enum { LINGER_MS = 100 };
/* A reply waits only behind others to the same peer. One that asks on and on
 * and reads nothing would hold every context for ever, so it is cut off. */
enum { UNREAD_MS = 1000 };
/* How often we look whether one that waits has gone. */
enum { LOOK_MS = 10 };

enum { ACCEPT_FAILURES = 3 };

/* One context: receives, is served on the loop, replies, receives again. Each
 * step is the only one under way for its slot, so nothing here needs a lock.
 *
 * A callback would cost each reply a walk to one of nng's threads and back, so
 * replying has none: nng takes the message out of `replying` at once where
 * nothing is in the way, which is nearly always. Who has to wait is looked
 * after by a timer. */
struct mq_request {
	struct inbox_item item;
	struct mq_server *server;
	nng_ctx ctx;
	nng_aio *receiving, *replying;
	nng_msg *msg; /* while it is served */
	/* While the reply waits. */
	struct mq_request *next;
	nng_pipe pipe;
	uint64_t since_us;
};

struct mq_server {
	nng_socket socket;
	nng_listener listener;
	struct inbox *inbox;
	struct timer *linger, *look;
	struct mq_request *slots;
	struct mq_request *waiting; /* to be replied to */
	size_t slot_count;
	mq_serve serve;
	void *owner;
	uint16_t port;
	uint64_t failures[ACCEPT_FAILURES]; /* at the last look */
	_Atomic bool closing;
};

static void receive(struct mq_request *slot)
{
	nng_ctx_recv(slot->ctx, slot->receiving);
}

/* On an nng thread. */
static void on_slot(void *argument)
{
	struct mq_request *slot = argument;
	int r = nng_aio_result(slot->receiving);

	if (r == 0) {
		slot->msg = nng_aio_get_msg(slot->receiving);
		inbox_push(slot->server->inbox, &slot->item);
	} else if (r != NNG_ECLOSED && r != NNG_ECANCELED &&
		!atomic_load(&slot->server->closing)) {
		receive(slot);
	}
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
	r = nng_ctx_open(&slot->ctx, server->socket);
	if (r == 0) {
		r = nng_aio_alloc(&slot->receiving, on_slot, slot);
	}
	if (r == 0) {
		r = nng_aio_alloc(&slot->replying, NULL, NULL);
	}
	if (r == 0) {
		nng_aio_set_timeout(slot->receiving, NNG_DURATION_INFINITE);
		nng_aio_set_timeout(slot->replying, UNREAD_MS);
	}
	return r;
}

static int set_server_tls(nng_listener listener, const struct tls_material *tls)
{
	nng_tls_config *config = NULL;
	int r = mq_tls_config(&config, NNG_TLS_MODE_SERVER, tls);

	if (r == 0) {
		r = nng_tls_config_auth_mode(config,
			tls->ca == NULL ? NNG_TLS_AUTH_MODE_NONE
					: NNG_TLS_AUTH_MODE_REQUIRED);
	}
	if (r == 0) {
		r = nng_listener_set_ptr(listener, NNG_OPT_TLS_CONFIG, config);
	}
	nng_tls_config_free(config); /* the listener holds it */
	return r;
}

static int start_listener(struct mq_server *server,
	const struct mq_server_options *options)
{
	int port = 0;
	int r = nng_listener_create(&server->listener, server->socket,
		options->url);

	if (r == 0 && options->tls != NULL) {
		r = set_server_tls(server->listener, options->tls);
	}
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

static void stop_slot(struct mq_request *slot)
{
	if (slot->receiving != NULL) {
		nng_aio_stop(slot->receiving);
	}
	if (slot->replying != NULL) {
		nng_aio_stop(slot->replying);
		nng_msg_free(nng_aio_get_msg(slot->replying));
	}
}

/* No callback of a slot runs after its operation was stopped, even if the
 * socket is long in closing. */
static void server_free(struct mq_server *server)
{
	bool is_closed;

	for (size_t i = 0; i < server->slot_count; i++) {
		stop_slot(&server->slots[i]);
	}
	is_closed = mq_close_socket(server->socket, server);
	for (size_t i = 0; i < server->slot_count; i++) {
		nng_aio_free(server->slots[i].receiving);
		nng_aio_free(server->slots[i].replying);
	}
	inbox_close(server->inbox);
	for (size_t i = 0; i < server->slot_count; i++) {
		nng_msg_free(server->slots[i].msg);
	}
	timer_close(server->linger);
	timer_close(server->look);
	if (is_closed) {
		free(server->slots);
		free(server);
	}
}

/* ---- replies that wait ---- */

/* False: the reply is on its way, or waits no longer. nng's threads may take it
 * while we look; then it is found gone the next time. */
static bool is_waiting(const struct mq_request *slot, uint64_t now_us)
{
	return nng_aio_get_msg(slot->replying) != NULL &&
		now_us < slot->since_us + (UNREAD_MS + LOOK_MS) * 1000ULL;
}

static void end_waiting(struct mq_request *slot)
{
	nng_msg *unsent;

	nng_aio_wait(slot->replying);
	unsent = nng_aio_get_msg(slot->replying);
	nng_aio_set_msg(slot->replying, NULL);
	if (nng_aio_result(slot->replying) != 0) {
		nng_msg_free(unsent);
	}
	if (nng_aio_result(slot->replying) == NNG_ETIMEDOUT) {
		(void)nng_pipe_close(slot->pipe);
	}
	receive(slot);
}

static void on_look(void *owner)
{
	struct mq_server *server = owner;
	struct mq_request **at = &server->waiting;
	uint64_t now_us = clock_monotonic_us();

	while (*at != NULL) {
		struct mq_request *slot = *at;

		if (is_waiting(slot, now_us)) {
			at = &slot->next;
		} else {
			*at = slot->next;
			end_waiting(slot);
		}
	}
	if (server->waiting == NULL) {
		timer_stop(server->look);
	}
}

static void wait_to_reply(struct mq_request *slot)
{
	struct mq_server *server = slot->server;

	slot->since_us = clock_monotonic_us();
	slot->next = server->waiting;
	if (server->waiting == NULL) {
		timer_start(server->look, LOOK_MS, LOOK_MS);
	}
	server->waiting = slot;
}

static void on_linger(void *owner)
{
	server_free(owner);
}

int mq_server_new(struct mq_server **out, uv_loop_t *loop,
	const struct mq_server_options *options, struct error *err)
{
	struct mq_server *server;
	int r = mq_check_url(options->url, options->tls, err);

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
	server->look = timer_new(loop, on_look, server);
	r = nng_rep0_open(&server->socket);
	if (r == 0) {
		r = nng_socket_set_size(server->socket, NNG_OPT_RECVMAXSZ,
			MQ_RECV_MAX);
	}
	for (size_t i = 0; r == 0 && i < server->slot_count; i++) {
		r = open_slot(server, &server->slots[i]);
	}
	if (r == 0) {
		r = start_listener(server, options);
	}
	if (r != 0) {
		atomic_store(&server->closing, true);
		server_free(server);
		return error_set(err, mq_errno(r), "cannot listen on '%s': %s",
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

/* As nng 1.5.2 counts on a listener: "auth" is every TLS handshake that fails,
 * for which it has no finer codes; "proto" a greeting of something else. */
static const char *const accept_stats[ACCEPT_FAILURES] = { "auth", "proto",
	"timeout" };
static const char *const accept_texts[ACCEPT_FAILURES] = {
	("a TLS handshake failed: a peer shows no certificate or one of "
	 "another "
	 "authority, does not trust ours, or does not speak TLS"),
	"a peer does not speak plimsoll's protocol, or it speaks TLS",
	"a peer connected and said nothing",
};

const char *mq_server_trouble(struct mq_server *server)
{
	int failure = -1;
	nng_stat *listener;
	nng_stat *all = NULL;

	if (nng_stats_get(&all) != 0) {
		return "";
	}
	listener = nng_stat_find_listener(all, server->listener);
	if (listener != NULL) {
		failure = mq_failure_since(server->failures, listener,
			accept_stats, ACCEPT_FAILURES);
	}
	nng_stats_free(all);
	return failure < 0 ? "" : accept_texts[failure];
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
	nng_aio_set_msg(request->replying, msg);
	nng_ctx_send(request->ctx, request->replying);
	if (nng_aio_get_msg(request->replying) == NULL) {
		receive(request);
	} else {
		wait_to_reply(request);
	}
}

void mq_server_close(struct mq_server *server)
{
	if (server == NULL || atomic_exchange(&server->closing, true)) {
		return;
	}
	timer_start(server->linger, LINGER_MS, 0);
}
