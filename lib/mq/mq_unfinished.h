/* Ends connections whose peer stops in the middle of a message, and those that
 * the server replaces.
 *
 * nng reserves a message's whole length, waits for the rest without a limit,
 * and does not say how much has come. The kernel does: a connection is in the
 * middle of a message if it has received more bytes than its complete messages
 * have.
 *
 * TLS adds an unknown number of bytes, so with TLS up to 32 KiB and some bytes
 * a message do not count. Private to lib/mq/mq*.c. */
#pragma once

#include <nng/nng.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A request takes at most 15 s, with its reply: agents and schedulers give up
 * then. */
#define MQ_UNFINISHED_US UINT64_C(15000000)

/* All unfinished messages together. Above the first limit, connections that
 * received nothing for a second are closed, and above the second any: always
 * the one that has received nothing for longest. After an outage, a thousand
 * agents may send batches of 256 KiB over one slow link, and no other peer has
 * a reason to come near the first limit. */
enum {
	MQ_UNFINISHED_STALLED_BYTES = 32 << 20,
	MQ_UNFINISHED_BYTES = 64 << 20,
};
#define MQ_UNFINISHED_STALLED_US UINT64_C(1000000)

/* When the caller checks: regularly, and when there are so many new connections
 * and they are one in so many of all. In between, older connections can send
 * more than the limit: 60 MB at 1 Gbit/s. A check costs 2 us for each
 * connection that received bytes since the last one. */
enum { MQ_UNFINISHED_CHECK_MS = 500, MQ_UNFINISHED_NEW = 16 };

/* On an nng thread: a check is due now. */
typedef void (*mq_unfinished_due)(void *owner);

struct mq_unfinished;

/* Watches the connections of a socket that has none yet. */
struct mq_unfinished *mq_unfinished_new(nng_socket socket, bool is_tls,
	mq_unfinished_due due, void *owner);
void mq_unfinished_start(struct mq_unfinished *unfinished, uint16_t port);

/* A message with a body of len bytes is complete. From any thread. */
void mq_unfinished_end(struct mq_unfinished *unfinished, nng_pipe pipe,
	size_t len);

/* Returns how many connections were closed because of unfinished messages. */
size_t mq_unfinished_check(struct mq_unfinished *unfinished, uint64_t now_us);

/* Checks end all present connections, the first at from_us and the others
 * evenly within the time; those of an earlier call at their time. Connections
 * of the next 15 s are ended too: their handshakes may have begun before. */
void mq_unfinished_drain(struct mq_unfinished *unfinished, uint64_t from_us,
	uint64_t within_us);

/* On the loop thread. */
void mq_unfinished_disconnect(struct mq_unfinished *unfinished, nng_pipe pipe);

/* After the socket is closed. NULL is fine. */
void mq_unfinished_free(struct mq_unfinished *unfinished);
