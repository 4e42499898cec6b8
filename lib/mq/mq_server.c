#include "lib/mq/mq.h"

#include "lib/clock.h"
#include "lib/hash.h"
#include "lib/inbox.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq/mq_accept.h"
#include "lib/mq/mq_file.h"
#include "lib/mq/mq_nng.h"
#include "lib/mq/mq_unfinished.h"

#include <arpa/inet.h>
#include <errno.h>
#include <nng/protocol/reqrep0/rep.h>
#include <stdatomic.h>
#include <stdlib.h>

/* When a server closes, nng may still be sending replies. */
enum { LINGER_MS = 100 };
/* A reply waits only behind others to the same peer. A peer that keeps sending
 * requests and reads no replies would occupy every context, so it is
 * disconnected. */
enum { UNREAD_MS = 1000 };
/* How often waiting replies are checked. */
enum { CHECK_MS = 10 };
/* A few messages of a large fleet are taken at a time. Each takes up to 4 ms
 * longer. */
enum { INTERVAL_MS = 4 };
/* The length of a message covers the hops that REQ/REP allows: nine. */
enum { HOPS_BYTES = 9 * 4 };

/* Slots that receive at a time. Messages that arrive while the loop is busy
 * fill these at most: 64 MiB. */
enum { RECEIVING_MAX = 64 };

enum { ACCEPT_FAILURES = 3 };

/* One context: receives, is served on the loop thread, replies, and receives
 * again. Only one of these steps runs at a time per slot, so no lock is needed.
 *
 * Replying has no callback, because a callback costs each reply a round trip to
 * an nng thread. Nearly always nng takes the message out of `replying` at once;
 * a timer checks the other replies. */
struct mq_request {
	struct inbox_item item;
	struct mq_server *server;
	nng_ctx ctx;
	nng_aio *receiving, *replying;
	nng_msg *msg; /* received, then without bytes for the reply */
	struct mq_request *next; /* in server->waiting or ->idle */
	/* For a reply that waits: */
	nng_pipe pipe;
	uint64_t since_us;
};

struct mq_server {
	struct inbox_item due; /* a check of unfinished messages */
	_Atomic bool is_due;   /* pushed, and not delivered yet */
	nng_socket socket;
	nng_listener listener;
	const char *url;   /* while it starts */
	struct mq_tls tls; /* zeroed without TLS */
	uint64_t ca_hash;  /* of tls.now */
	struct inbox *inbox;
	struct timer *linger, *check, *unfinished_check;
	struct mq_unfinished *unfinished;
	size_t unfinished_closed; /* since mq_server_last_error() */
	struct mq_request *slots;
	struct mq_request *waiting; /* with waiting replies */
	struct mq_request *idle;    /* neither receiving nor in use */
	size_t receiving;	    /* slots */
	size_t slot_count;
	mq_serve serve;
	void *owner;
	uint16_t port;
	/* nng's counters at the last call */
	uint64_t failures[ACCEPT_FAILURES];
	_Atomic bool closing;
};

static void receive(struct mq_request *slot)
{
	nng_ctx_recv(slot->ctx, slot->receiving);
}

/* Keeps RECEIVING_MAX slots ready for a message. */
static void receive_more(struct mq_server *server)
{
	while (server->receiving < RECEIVING_MAX && server->idle != NULL) {
		struct mq_request *slot = server->idle;

		server->idle = slot->next;
		server->receiving++;
		receive(slot);
	}
}

static void end_request(struct mq_request *slot)
{
	slot->next = slot->server->idle;
	slot->server->idle = slot;
	receive_more(slot->server);
}

/* On an nng thread. */
static void on_slot(void *argument)
{
	struct mq_request *slot = argument;
	int r = nng_aio_result(slot->receiving);

	if (r == 0) {
		slot->msg = nng_aio_get_msg(slot->receiving);
		mq_unfinished_end(slot->server->unfinished,
			nng_msg_get_pipe(slot->msg), nng_msg_len(slot->msg));
		inbox_push(slot->server->inbox, &slot->item);
	} else if (r != NNG_ECLOSED && r != NNG_ECANCELED &&
		!atomic_load(&slot->server->closing)) {
		receive(slot);
	}
}

static void check_unfinished(void *owner)
{
	struct mq_server *server = owner;

	server->unfinished_closed +=
		mq_unfinished_check(server->unfinished, clock_monotonic_us());
}

/* On an nng thread. */
static void on_unfinished_due(void *owner)
{
	struct mq_server *server = owner;

	if (!atomic_load(&server->closing) &&
		!atomic_exchange(&server->is_due, true)) {
		inbox_push(server->inbox, &server->due);
	}
}

static void deliver_request(void *owner, struct inbox_item *item)
{
	struct mq_server *server = owner;
	struct mq_request *slot = (struct mq_request *)item;

	nng_msg *msg;

	if (atomic_load(&server->closing)) {
		return; /* freed with the slot */
	}
	if (item == &server->due) {
		atomic_store(&server->is_due, false);
		check_unfinished(server);
		return;
	}
	server->receiving--;
	msg = slot->msg;
	/* A request that waits for its reply does not keep its bytes. */
	if (nng_msg_alloc(&slot->msg, 0) != 0) {
		abort(); /* out of memory */
	}
	nng_msg_set_pipe(slot->msg, nng_msg_get_pipe(msg));
	server->serve(server->owner, slot, nng_msg_body(msg), nng_msg_len(msg));
	nng_msg_free(msg);
	receive_more(server);
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

static int set_tls(struct mq_server *server, const struct tls_material *tls,
	int (*use)(struct mq_server *server, nng_tls_config *config))
{
	nng_tls_config *config = NULL;
	int r = mq_tls_config(&config, NNG_TLS_MODE_SERVER, tls);

	r = r == 0 ? use(server, config) : r;
	if (r == 0) {
		mq_tls_replace(&server->tls, config);
		server->ca_hash = hash_text(HASH_SEED, tls->ca);
	} else if (config != NULL) {
		nng_tls_config_free(config);
	}
	return r;
}

static int change(struct mq_server *server, nng_tls_config *config)
{
	return nng_listener_set_ptr(server->listener, NNG_OPT_TLS_CONFIG,
		config);
}

int mq_server_set_tls(struct mq_server *server, const struct tls_material *tls,
	struct error *err)
{
	uint64_t ca_hash = server->ca_hash;
	int r = server->tls.now == NULL ? NNG_ENOTSUP
					: set_tls(server, tls, change);

	if (r != 0) {
		return error_set(err, -EINVAL,
			"cannot use the certificates for the listener: %s",
			mq_error_text(r));
	}
	mq_touch(server->listener);
	if (ca_hash != server->ca_hash) {
		mq_unfinished_drain(server->unfinished,
			clock_monotonic_us() + MQ_DRAIN_MS * UINT64_C(1000),
			MQ_DRAIN_SPREAD_MS * UINT64_C(1000));
	}
	return 0;
}

static int start(struct mq_server *server, nng_tls_config *config)
{
	return mq_listen(&server->listener, server->socket, server->url,
		config);
}

static int start_listener(struct mq_server *server,
	const struct mq_server_options *options)
{
	int port = 0, r;

	server->url = options->url;
	r = options->tls == NULL ? start(server, NULL)
				 : set_tls(server, options->tls, start);
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

/* No callback of a slot runs after its operation was stopped, even if closing
 * the socket takes long. */
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
	mq_tls_fini(&server->tls);
	for (size_t i = 0; i < server->slot_count; i++) {
		nng_msg_free(server->slots[i].msg);
	}
	timer_close(server->linger);
	timer_close(server->check);
	timer_close(server->unfinished_check);
	if (is_closed) {
		mq_unfinished_free(server->unfinished);
		free(server->slots);
		free(server);
	}
}

/* ---- waiting replies ---- */

/* False: the reply was sent, or its time is over. nng's threads may send it
 * during this check; then the next check sees that. */
static bool is_waiting(const struct mq_request *slot, uint64_t now_us)
{
	return nng_aio_get_msg(slot->replying) != NULL &&
		now_us < slot->since_us + (UNREAD_MS + CHECK_MS) * 1000ULL;
}

static void end_waiting(struct mq_request *slot)
{
	nng_msg *unsent;
	int r;

	/* nng's own timeout waits for the wall clock, which may be set back. */
	nng_aio_cancel(slot->replying);
	nng_aio_wait(slot->replying);
	r = nng_aio_result(slot->replying);
	unsent = nng_aio_get_msg(slot->replying);
	nng_aio_set_msg(slot->replying, NULL);
	if (r != 0) {
		nng_msg_free(unsent);
	}
	if (r == NNG_ETIMEDOUT || r == NNG_ECANCELED) {
		mq_unfinished_disconnect(slot->server->unfinished, slot->pipe);
	}
	end_request(slot);
}

static void check_waiting(void *owner)
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
		timer_stop(server->check);
	}
}

static void wait_to_reply(struct mq_request *slot)
{
	struct mq_server *server = slot->server;

	slot->since_us = clock_monotonic_us();
	slot->next = server->waiting;
	if (server->waiting == NULL) {
		timer_start(server->check, CHECK_MS, CHECK_MS);
	}
	server->waiting = slot;
}

static void on_linger(void *owner)
{
	server_free(owner);
}

static int open_server(struct mq_server *server,
	const struct mq_server_options *options)
{
	int r = nng_rep0_open(&server->socket);

	/* Half a message costs only the bytes that came. */
	memory_return_large_blocks();
	if (r == 0) {
		server->unfinished = mq_unfinished_new(server->socket,
			options->tls != NULL, on_unfinished_due, server);
		r = nng_socket_set_size(server->socket, NNG_OPT_RECVMAXSZ,
			MQ_SEND_MAX + HOPS_BYTES);
	}
	return r;
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
	inbox_set_interval(server->inbox, INTERVAL_MS);
	server->linger = timer_new(loop, on_linger, server);
	server->check = timer_new(loop, check_waiting, server);
	server->unfinished_check = timer_new(loop, check_unfinished, server);
	r = open_server(server, options);
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
			options->url, mq_error_text(r));
	}
	for (size_t i = 0; i < server->slot_count; i++) {
		end_request(&server->slots[i]);
	}
	mq_unfinished_start(server->unfinished, server->port);
	timer_start(server->unfinished_check, MQ_UNFINISHED_CHECK_MS,
		MQ_UNFINISHED_CHECK_MS);
	*out = server;
	return 0;
}

uint16_t mq_server_port(const struct mq_server *server)
{
	return server->port;
}

/* How nng 1.5.2 counts on a listener: "auth" is any failed TLS handshake,
 * "proto" a peer that speaks another protocol. */
static const char *const accept_stats[ACCEPT_FAILURES] = { "auth", "proto",
	"timeout" };
static const char *const accept_texts[ACCEPT_FAILURES] = {
	("a TLS handshake failed: a peer has no certificate or one from "
	 "another CA, rejects the server's certificate, or does not speak "
	 "TLS"),
	"a peer does not speak plimsoll's protocol, or it speaks TLS",
	"a peer connected and sent nothing",
};

const char *mq_server_last_error(struct mq_server *server)
{
	const char *why = mq_accept_last_error(htons(server->port));
	int failure = -1;
	nng_stat *listener, *all = NULL;

	if (*why != '\0' || nng_stats_get(&all) != 0) {
		return why;
	}
	listener = nng_stat_find_listener(all, server->listener);
	if (listener != NULL) {
		failure = mq_failure_since(server->failures, listener,
			accept_stats, ACCEPT_FAILURES);
	}
	nng_stats_free(all);
	if (failure < 0 && server->unfinished_closed > 0) {
		server->unfinished_closed = 0;
		return "a peer stopped in the middle of a message";
	}
	return failure < 0 ? "" : accept_texts[failure];
}

uint32_t mq_request_pipe(const struct mq_request *request)
{
	return (uint32_t)nng_pipe_id(nng_msg_get_pipe(request->msg));
}

uint64_t mq_request_host(const struct mq_request *request)
{
	nng_sockaddr from;

	if (nng_pipe_get_addr(nng_msg_get_pipe(request->msg), NNG_OPT_REMADDR,
		    &from) != 0) {
		return 0;
	}
	return from.s_family == NNG_AF_INET6
		? hash_bytes(HASH_SEED, from.s_in6.sa_addr, 16)
		: hash_bytes(HASH_SEED, &from.s_in.sa_addr, 4);
}

void mq_reply(struct mq_request *request, const uint8_t *bytes, size_t len)
{
	nng_msg *msg = take_ptr(request->msg);

	nng_msg_clear(msg);
	if (nng_msg_append(msg, bytes, len) != 0) {
		abort(); /* out of memory */
	}
	request->pipe = nng_msg_get_pipe(msg);
	nng_aio_set_msg(request->replying, msg);
	nng_ctx_send(request->ctx, request->replying);
	if (nng_aio_get_msg(request->replying) == NULL) {
		end_request(request);
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
