/* The connections of an HTTP server, as far as they wait for their clients.
 *
 * libmicrohttpd's own timeout is of silence only: a client that sends or reads
 * a byte a second is never closed. So whoever takes longer for a request or an
 * answer than it may is cut off; and where many connections are open, each new
 * one costs the oldest that has not finished its request, so that whoever asks
 * quickly gets through a crowd of those who do not ask.
 *
 * Cutting is shutdown(2): the server then sees the end and closes. Any thread
 * may call any function. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

enum {
	/* For a request to be complete, counted from the connection's begin or
	 * the end of the answer before, and for an answer to be read. */
	CLIENT_REQUEST_MS = 8000,
	CLIENT_ANSWER_MS = 120000,
};

enum client_state {
	CLIENT_ASKING,	/* its request is coming in */
	CLIENT_SERVED,	/* we owe it an answer */
	CLIENT_READING, /* the answer is on its way */
};

/* One connection; in the server's hands, read and written here alone. */
struct client {
	TAILQ_ENTRY(client) link;
	int fd;
	enum client_state state;
	uint64_t due_us;
	bool has_asked; /* at least one request was complete */
	bool was_cut;
};

struct clients {
	uv_mutex_t mutex;
	TAILQ_HEAD(client_list, client) list; /* the longest waiting first */
	unsigned count;			      /* without those that were cut */
	unsigned crowd;
	uint64_t strangers;
};

/* With so many open a new one costs the oldest. */
void clients_init(struct clients *clients, unsigned crowd);
void clients_fini(struct clients *clients);

/* A connection began: it is asking. */
void clients_add(struct clients *clients, struct client *client, int fd,
	uint64_t now_us);

/* It goes on to another state, or to the same one anew. */
void clients_set(struct clients *clients, struct client *client,
	enum client_state state, uint64_t now_us);

/* It ended. */
void clients_remove(struct clients *clients, struct client *client);

/* Cuts off who takes too long. */
void clients_reap(struct clients *clients, uint64_t now_us);

/* How many connections ended, since the last call, without a complete request
 * ever: too slow, or speaking something else. */
uint64_t clients_strangers(struct clients *clients);
