/* Request/reply messages over nng (REQ/REP with contexts).
 *
 * Only mq*.c include nng. nng's callbacks run on its own threads and push into
 * an inbox; everything below happens on the loop thread. Receive limits are
 * set on the socket before a listener or dialer exists. */
#pragma once

#include "lib/error.h"
#include "lib/tls/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/* The largest reply that a client receives, and the largest request. A peer
 * that sends more is disconnected without a reason: nng 1.5.2 cannot give one.
 * The server also disconnects peers that stop in the middle of a message; see
 * lib/mq/mq_unfinished.h for the limits. */
enum { MQ_RECV_MAX = 4 << 20, MQ_SEND_MAX = 1 << 20 };

/* --- server --- */
struct mq_server;
struct mq_request; /* one request that waits for its reply */

/* bytes are valid during the call. */
typedef void (*mq_serve)(void *owner, struct mq_request *request,
	const uint8_t *bytes, size_t len);

struct mq_server_options {
	const char *url; /* tcp://HOST:PORT or tls+tcp://; port 0 picks one */
	/* For tls+tcp: cert and key; with a ca, clients must have a certificate
	 * from it. Borrowed for the call; NULL for tcp. */
	const struct tls_material *tls;
	/* Requests processed at once; requests per second are at most
	 * contexts / time per reply. */
	size_t contexts;
	mq_serve serve;
	void *owner; /* outlives the server */
};

/* -EADDRINUSE, -EADDRNOTAVAIL, -EINVAL (unsupported URL or unusable TLS
 * material), -ENOMEM. */
must_check int mq_server_new(struct mq_server **out, uv_loop_t *loop,
	const struct mq_server_options *options, struct error *err);

/* Uses other TLS material from the next connection on; requests go on. If the
 * ca changed, connections made before, or within 15 s, may keep an old
 * certificate. Clients get new files too and connect again by
 * themselves. The server ends those that do not, from MQ_DRAIN_MS on, one
 * after the other within a minute: nng 1.5.2 may notice such an end only by
 * timeouts.
 * -EINVAL: a server without TLS, or unusable material; the old one stays. */
enum { MQ_DRAIN_MS = 300000, MQ_DRAIN_SPREAD_MS = 60000 };
must_check int mq_server_set_tls(struct mq_server *server,
	const struct tls_material *tls, struct error *err);

/* The bound port. */
uint16_t mq_server_port(const struct mq_server *server);

/* Returns why peers could not connect, or were disconnected, since the last
 * call, or "". Does not cover messages above MQ_SEND_MAX: nng drops their
 * connection and counts that like any disconnect. Borrowed. */
const char *mq_server_last_error(struct mq_server *server);

/* Replies and ends the request. The bytes are copied. */
void mq_reply(struct mq_request *request, const uint8_t *bytes, size_t len);

/* Identifies the request's connection; nng does not reuse the number while the
 * process runs. */
uint32_t mq_request_pipe(const struct mq_request *request);

/* A number for the host that the request came from, for this process only; 0 if
 * the connection has ended. */
uint64_t mq_request_host(const struct mq_request *request);

/* Stops receiving and drops open requests, which must not be replied to after
 * this call. Frees itself. NULL is fine. */
void mq_server_close(struct mq_server *server);

/* --- client --- */
struct mq_client;

/* Receives the reply to the last request. bytes are valid during the call.
 * NULL: the connection was lost or the timeout passed; the server may have
 * received the request. */
typedef void (*mq_on_reply)(void *owner, const uint8_t *bytes, size_t len);

struct mq_client_options {
	const char *url; /* tcp://HOST:PORT or tls+tcp:// */
	/* For tls+tcp: ca, and cert and key if the server requires them. The
	 * server's name is always checked. Borrowed for the call; NULL for
	 * tcp. */
	const struct tls_material *tls;
	const char *server_name; /* NULL: the URL's host */
	uint64_t timeout_ms;	 /* with the wait for a connection */
	mq_on_reply on_reply;
	void *owner; /* outlives the client */
};

/* Connects in the background and retries with random delays, and at least every
 * 30 s. If the wall clock is set back, a pending request ends without a reply
 * within 15 s, and the client reconnects.
 * -EINVAL: unsupported URL or unusable TLS material. */
must_check int mq_client_new(struct mq_client **out, uv_loop_t *loop,
	const struct mq_client_options *options, struct error *err);

/* Uses other TLS material: connects again within MQ_RENEW_MS, at a random
 * moment at which no request is pending. The next request waits for the new
 * connection, so none is lost.
 * -EINVAL: a client without TLS, or unusable material; the old one stays. */
enum { MQ_RENEW_MS = 10000 };
must_check int mq_client_set_tls(struct mq_client *client,
	const struct tls_material *tls, struct error *err);

/* Sends one request, at most MQ_SEND_MAX bytes, copied. Exactly one call of
 * on_reply follows. Only one request may be pending: see mq_client_busy(). */
void mq_client_send(struct mq_client *client, const uint8_t *bytes, size_t len);

bool mq_client_busy(const struct mq_client *client);
bool mq_client_connected(const struct mq_client *client);

/* Returns why the client is not connected, or "" if it is. Borrowed. */
const char *mq_client_last_error(struct mq_client *client);

/* on_reply is not called after this. Frees itself. NULL is fine. */
void mq_client_close(struct mq_client *client);

/* The version of nng that the program runs with. */
const char *mq_library_version(void);
