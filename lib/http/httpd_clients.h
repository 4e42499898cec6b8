/* Limits what the HTTP server's clients hold, and for how long: connections,
 * bytes of bodies, places among the requests in service, bytes of responses,
 * long responses.
 *
 * libmicrohttpd's own timeout covers only silence: it never closes a client
 * that sends or reads a byte a second. Here a client that needs too long for a
 * request or for reading a response is disconnected. If a limit is reached, the
 * client that gives way by the rules of lib/fair_share.h is disconnected; the
 * flows are those of the clients' addresses, or of names that the server knows
 * better.
 *
 * Disconnecting means shutdown(2): libmicrohttpd then sees the end of the
 * stream and closes. All functions are thread-safe. */
#pragma once

#include "lib/fair_share.h"

#include <netinet/in.h>
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

enum {
	/* From here on each new connection displaces another one. */
	HTTPD_CONNECTIONS_FULL = 150,
	/* Bytes of all bodies, as announced: four of the largest possible. A
	 * part is for small ones, such as the review of a usual pod. */
	HTTPD_BODIES_MAX = 16 << 20,
	HTTPD_BODIES_RESERVE = 4 << 20,
	HTTPD_BODY_SMALL = 64 << 10,
	/* Places of requests: in all, of a peer, and for short requests. */
	HTTPD_PLACES = 140,
	HTTPD_PLACES_OF_PEER = 32,
	HTTPD_PLACES_RESERVE = 40,
	HTTPD_PLACES_OF_WAIT = 2, /* of a request that may wait */
	/* Bytes of all responses that clients have not read yet. A single
	 * response may be larger. */
	HTTPD_UNREAD_MAX = 128 << 20,
	HTTPD_STREAMS = 16, /* streamed responses at a time */
};

enum client_state {
	CLIENT_REQUESTING, /* sending its request */
	CLIENT_WAITING,	   /* waiting for the server's response */
	CLIENT_READING,	   /* reading the response */
};

enum client_share {
	CLIENT_CONNECTION, /* one each */
	CLIENT_BODY,	   /* bytes of the request's body */
	CLIENT_PLACE,	   /* of a request in service; more if it waits */
	CLIENT_RESPONSE,   /* bytes of the response */
	CLIENT_STREAM,	   /* one for a streamed response */
	CLIENT_SHARES,	   /* the number of shares */
};

struct client_limits {
	struct fair_share_limits sum;
	size_t small; /* what is not larger may have the reserve */
};

struct client_counts {
	/* Connections that ended without ever sending a complete request: the
	 * client was too slow, or did not speak HTTP or the required TLS. */
	uint64_t failed;
	uint64_t displaced; /* disconnected because others needed the room */
};

/* One connection. Allocated by the server; its members belong to this
 * module. */
struct client {
	TAILQ_ENTRY(client) link;
	int fd;
	char address[INET6_ADDRSTRLEN];
	struct seat *seats[CLIENT_SHARES]; /* NULL: holds nothing */
	enum client_state state;
	uint64_t due_us;
	bool has_requested; /* at least one request was complete */
	bool has_body_left; /* the server's: it may still send a body */
	bool is_disconnected;
};

struct clients {
	uv_mutex_t mutex;
	TAILQ_HEAD(client_list, client) list;
	struct fair_share shares[CLIENT_SHARES];
	size_t small[CLIENT_SHARES];
	struct client_counts counts; /* see clients_counts() */
};

/* limits: what all clients together may hold of each share. */
void clients_init(struct clients *clients,
	const struct client_limits limits[CLIENT_SHARES]);
void clients_fini(struct clients *clients);

/* Adds a new connection, in state CLIENT_REQUESTING. If there are too many
 * connections and none gives way, the new one may still be served, except if
 * its address has the most: then it is disconnected. */
void clients_add(struct clients *clients, struct client *client, int fd,
	const char *address, uint64_t now_us);

/* Sets the state, or restarts its time limit if it is the same state. */
void clients_set(struct clients *clients, struct client *client,
	enum client_state state, uint64_t now_us);

/* A reading client has read something, or waits for more to read. */
void clients_moved(struct clients *clients, struct client *client,
	bool is_waiting, uint64_t now_us);

/* Takes size of a share that the client does not hold yet. peer: the name to
 * count it for, or NULL for the address. False: nobody gives way. */
bool clients_take(struct clients *clients, struct client *client,
	enum client_share share, const char *peer, size_t size,
	uint64_t now_us);

/* Gives a share back; fine if the client does not hold it. */
void clients_give_back(struct clients *clients, struct client *client,
	enum client_share share);

/* Removes a connection that has ended. */
void clients_remove(struct clients *clients, struct client *client);

/* Disconnects every client whose time is over. */
void clients_expire(struct clients *clients, uint64_t now_us);

/* Returns the counts since the last call. */
struct client_counts clients_counts(struct clients *clients);
