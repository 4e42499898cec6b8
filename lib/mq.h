/* Messages over nng: one request, one reply (REQ/REP with contexts).
 *
 * The only file that includes nng. nng's callbacks run on its own threads; they
 * push into an inbox and everything below happens on the loop's thread.
 * Receive limits are set on the socket before a listener or dialer exists. */
#pragma once

#include "lib/error.h"
#include "lib/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/* The largest message senders make, and the largest that is received at all:
 * who serves can say of what is between that it is too large; a peer that
 * sends more is disconnected without a word, for nng 1.5.2 gives no reason. */
enum { MQ_RECV_MAX = 4 << 20, MQ_SEND_MAX = 1 << 20 };

/* --- server --- */
struct mq_server;
struct mq_request; /* one received request that waits for its reply */

/* bytes belong to the request and live until it is replied to. */
typedef void (*mq_serve)(void *owner, struct mq_request *request,
	const uint8_t *bytes, size_t len);

struct mq_server_options {
	const char *url; /* tcp://HOST:PORT or tls+tcp://; port 0 picks one */
	/* For tls+tcp: cert and key; with a ca, clients must show a certificate
	 * of it. Borrowed for the call; NULL for tcp. */
	const struct tls_material *tls;
	size_t contexts; /* requests in hand at most: requests per second
	                  * <= contexts / time per reply */
	mq_serve serve;
	void *owner; /* outlives the server */
};

/* -EADDRINUSE, -EADDRNOTAVAIL, -EINVAL (not an URL we serve, or TLS material
 * that is no good), -ENOMEM. */
must_check int mq_server_new(struct mq_server **out, uv_loop_t *loop,
	const struct mq_server_options *options, struct error *err);

/* The port that was bound; useful with port 0. */
uint16_t mq_server_port(const struct mq_server *server);

/* What kept peers from connecting since the last call, in words; "" if nothing
 * did. A message beyond MQ_RECV_MAX is not among it: nng drops its connection
 * and counts that like any other end of one. Borrowed. */
const char *mq_server_trouble(struct mq_server *server);

/* Answers and ends the request. The bytes are copied. */
void mq_reply(struct mq_request *request, const uint8_t *bytes, size_t len);

/* Identifies the connection a request came by; never reused by nng while the
 * process lives. */
uint32_t mq_request_pipe(const struct mq_request *request);

/* Stops taking requests and drops those still open. Unanswered requests must
 * not be replied to any more after this call. Frees itself. NULL is fine. */
void mq_server_close(struct mq_server *server);

/* --- client --- */
struct mq_client;

/* The reply to the request that was sent last. bytes live during the call.
 * NULL bytes: the connection was lost or the timeout passed; the request may
 * have arrived. */
typedef void (*mq_answer)(void *owner, const uint8_t *bytes, size_t len);

struct mq_client_options {
	const char *url; /* tcp://HOST:PORT or tls+tcp:// */
	/* For tls+tcp: ca, and cert and key where the server wants them. The
	 * server's name is always checked. Borrowed for the call; NULL for tcp */
	const struct tls_material *tls;
	const char *server_name; /* NULL: the URL's host */
	uint64_t timeout_ms;	 /* for one request, waiting for a connection
	                      * included */
	mq_answer answer;
	void *owner; /* outlives the client */
};

/* Dials in the background and keeps dialling, with random waits. Where the wall
 * clock is set back, a request under way ends without an answer within 15 s,
 * and dialling begins anew. -EINVAL: not an URL we dial, or TLS material that is
 * no good. */
must_check int mq_client_new(struct mq_client **out, uv_loop_t *loop,
	const struct mq_client_options *options, struct error *err);

/* Sends one request, at most MQ_SEND_MAX bytes, copied; exactly one call of
 * answer follows. Only one may be under way: see mq_client_busy(). */
void mq_client_send(struct mq_client *client, const uint8_t *bytes, size_t len);

bool mq_client_busy(const struct mq_client *client);
bool mq_client_connected(const struct mq_client *client);

/* Why the client is not connected, in words; "" if it is. Borrowed. */
const char *mq_client_trouble(struct mq_client *client);

/* No answer is called any more; frees itself. NULL is fine. */
void mq_client_close(struct mq_client *client);
