/* Finds the sockets of nng's connections, and which of them received bytes.
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

/* The bytes that a connection has received; 0: the file is none. */
uint64_t mq_file_received(int fd);

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

/* Which sockets received bytes since the last look.
 *
 * A look costs as much as the connections that received something, and not as
 * all: with agents that report every 10 s, that is one in twenty. An epoll of
 * its own keeps the list. It reports edges, and nothing waits for it, so the
 * kernel only notes each arrival. */
struct mq_activity {
	int epoll; /* negative: the kernel has none for us */
};

struct mq_activity mq_activity_new(void);
void mq_activity_close(struct mq_activity *activity);

/* Watches a socket under a number of the caller's, until its file is closed.
 * A socket that is watched already gets the new number. The next look visits it
 * in any case. False: the kernel does not watch it, so the caller looks at it
 * itself. */
bool mq_activity_watch(struct mq_activity *activity, int fd, int id);

/* Visits the numbers of the sockets that received bytes, or closed, since the
 * last call. */
void mq_activity_visit(struct mq_activity *activity,
	void (*visit)(void *owner, int id), void *owner);
