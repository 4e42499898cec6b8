/* Ends connections whose peer stops in the middle of a message.
 *
 * nng reserves a message's whole length, waits for the rest without a limit,
 * and does not say how much has come. The kernel does: a connection is in the
 * middle of a message if it has received more bytes than its complete messages
 * have. nng does not give its sockets away, so they are found among the
 * process's files by their addresses, and only read.
 *
 * TLS adds an unknown number of bytes, so with TLS up to 32 KiB and some bytes
 * a message do not count. Private to lib/mq*.c. */
#pragma once

#include <nng/nng.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A request takes at most 15 s, with its reply: agents and schedulers give up
 * then. */
#define MQ_UNFINISHED_US UINT64_C(15000000)

/* All unfinished messages together. Above it, the connections whose messages
 * are unfinished for longest are closed. 128 batches of agents, which are at
 * most 256 KiB, fit. */
enum { MQ_UNFINISHED_BYTES = 32 << 20 };

/* How often the caller checks. In between, peers can send more than the limit:
 * 25 MB at 1 Gbit/s. */
enum { MQ_UNFINISHED_CHECK_MS = 200 };

struct mq_unfinished;

/* Watches the connections of a socket that has none yet. */
struct mq_unfinished *mq_unfinished_new(nng_socket socket, bool is_tls);
void mq_unfinished_start(struct mq_unfinished *unfinished, uint16_t port);

/* A message with a body of len bytes is complete. From any thread. */
void mq_unfinished_end(struct mq_unfinished *unfinished, nng_pipe pipe,
	size_t len);

/* Returns how many connections were closed. */
size_t mq_unfinished_check(struct mq_unfinished *unfinished, uint64_t now_us);

/* After the socket is closed. NULL is fine. */
void mq_unfinished_free(struct mq_unfinished *unfinished);
