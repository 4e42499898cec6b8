/* Limits how long the HTTP server's connections may wait for their clients.
 *
 * libmicrohttpd's own timeout covers only silence: it never closes a client
 * that sends or reads a byte a second. Here a client that needs too long for a
 * request or for reading a response is disconnected. Above the eviction limit
 * every new connection evicts the oldest one without a complete request, so
 * that idle connections cannot keep out working clients.
 *
 * Disconnecting means shutdown(2): libmicrohttpd then sees the end of the
 * stream and closes. All functions are thread-safe. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

enum {
	/* For sending a request, from the start of the connection or the end of
	 * the previous response; and for reading a response. */
	CLIENT_REQUEST_MS = 8000,
	CLIENT_RESPONSE_MS = 120000,
};

enum client_state {
	CLIENT_REQUESTING, /* sending its request */
	CLIENT_WAITING,	   /* waiting for the server's response */
	CLIENT_READING,	   /* reading the response */
};

/* One connection. Allocated by the server; its members belong to this
 * module. */
struct client {
	TAILQ_ENTRY(client) link;
	int fd;
	enum client_state state;
	uint64_t due_us;
	bool has_requested; /* at least one request was complete */
	bool is_disconnected;
};

struct clients {
	uv_mutex_t mutex;
	TAILQ_HEAD(client_list, client) list; /* longest waiting first */
	unsigned count; /* without those already disconnected */
	unsigned evict_limit;
	uint64_t failed; /* see clients_failed_connections() */
};

/* evict_limit: from this many connections on, a new one evicts the oldest. */
void clients_init(struct clients *clients, unsigned evict_limit);
void clients_fini(struct clients *clients);

/* Adds a new connection, in state CLIENT_REQUESTING. */
void clients_add(struct clients *clients, struct client *client, int fd,
	uint64_t now_us);

/* Sets the state, or restarts its time limit if it is the same state. */
void clients_set(struct clients *clients, struct client *client,
	enum client_state state, uint64_t now_us);

/* Removes a connection that has ended. */
void clients_remove(struct clients *clients, struct client *client);

/* Disconnects every client whose time is over. */
void clients_expire(struct clients *clients, uint64_t now_us);

/* See httpd_failed_connections(). */
uint64_t clients_failed_connections(struct clients *clients);
