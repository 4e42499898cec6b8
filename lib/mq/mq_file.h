/* Finds the sockets of nng's connections.
 *
 * nng does not give its sockets away, so they are found among the process's
 * files by their addresses. Private to lib/mq/mq*.c. */
#pragma once

#include <nng/nng.h>
#include <stdbool.h>
#include <stdint.h>

/* As bytes, the same from nng and from the kernel. */
struct mq_address {
	uint8_t host[16];
	uint16_t port; /* in network order */
};

/* An address of a connection: name is NNG_OPT_REMADDR or NNG_OPT_LOCADDR.
 * False: the connection has ended. */
bool mq_address_of_pipe(struct mq_address *out, nng_pipe pipe,
	const char *name);

/* The peer of a connection with the local port, in network order. False: the
 * file is not such a connection. */
bool mq_address_of_file(struct mq_address *peer, int fd, uint16_t port);

/* As memcmp(). */
int mq_address_compare(const struct mq_address *a, const struct mq_address *b);

/* Calls visit() for each of the process's files. */
void mq_files_visit(void (*visit)(void *owner, int fd), void *owner);

/* Connects to a listener and hangs up. nng has prepared the listener's next
 * connection already, with the TLS configuration that it had then: this uses
 * that connection up. */
void mq_touch(nng_listener listener);

/* Ends both directions of a connection; nng then closes it and frees its file.
 * nng_pipe_close() of 1.5.2 can wait forever for a receive that goes on at that
 * moment, and no connection is freed after that. */
void mq_file_end(int fd);
