/* An HTTP client on a libuv loop, with libcurl's multi interface.
 *
 * Only kube/http*.c include curl. HTTP/1.1 with persistent connections; the
 * server's certificate and name are always verified; no redirects, no proxy, no
 * .netrc. Responses are overwritten before they are freed; curl's own buffers
 * are not. No callback runs inside curl or inside the call that started the
 * request, so every callback may call every function here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/* Requests in flight, each on a connection of its own; further ones wait. A
 * connection costs a handshake, which takes as much CPU as some twenty requests
 * on a connection that is there. Only a server that answers slowly gets more
 * of them. */
enum { HTTP_REQUESTS = 8, HTTP_REQUESTS_MAX = 16 };

enum http_priority {
	HTTP_NORMAL,
	/* Waits while others do; see kube/http_queue.h. */
	HTTP_BACKGROUND,
	/* Neither waits nor counts. For few requests that are always in time,
	 * such as a lease's. Streams are like that, too. */
	HTTP_AT_ONCE,
};

struct http_client;
struct http_transfer; /* one pending request */

/* PEM texts. ca NULL: the system's CAs. cert and key: both or none. */
struct http_tls {
	const char *ca;
	const char *cert;
	const char *key;
};

struct http_response {
	int status;	  /* 0: no response, see error */
	const char *body; /* NUL-terminated; "" for a stream */
	size_t len;
	uint64_t retry_after_ms; /* Retry-After, or 0 */
	bool is_untrusted;	 /* the server's certificate was not trusted */
	bool is_too_large;	 /* above the call's max */
	const char *error;	 /* "" unless status is 0 */
};

/* Ends the request; everything in the response is borrowed for the call. */
typedef void (*http_done)(void *owner, const struct http_response *response);

/* Receives the bytes of a 2xx response as they arrive. The first call has len
 * 0: the response has begun. */
typedef void (*http_chunk)(void *owner, const char *bytes, size_t len);

struct http_call {
	const char *method; /* a literal */
	const char *url;
	const char *const *headers; /* "Name: value", NULL ends; or NULL */
	const char *body; /* borrowed until the request ends; or NULL */
	size_t len;	  /* of body */
	const struct http_tls *tls; /* borrowed for the call; or NULL */
	bool allows_plain;	    /* allow http:// as well */
	enum http_priority priority;
	uint64_t
		timeout_ms; /* of the whole request with its wait; at least 1 */
	size_t max;	    /* of the response, in bytes */
	/* An open connection that is idle is not used: the peer may be gone
	 * without a word. */
	bool needs_new_connection;
	http_chunk on_chunk; /* NULL: the body is collected */
	http_done on_done;
	void *owner; /* outlives the transfer */
};

/* The file with the system's CAs, which may not exist. NULL: curl was built
 * without one. Never freed. */
const char *http_system_ca(void);

/* agent is the User-Agent. Never NULL. */
struct http_client *http_client_new(uv_loop_t *loop, const char *agent);

/* Cancels pending requests and frees itself. NULL is fine. */
void http_client_close(struct http_client *client);

/* Calls on_done exactly once unless the request is cancelled. Never NULL. */
struct http_transfer *http_send(struct http_client *client,
	const struct http_call *call);

/* Cancels a request before its on_done: none of its callbacks runs any more. */
void http_cancel(struct http_transfer *transfer);

/* The version of libcurl that the program runs with. */
const char *http_library_version(void);
