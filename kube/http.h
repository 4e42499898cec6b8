/* HTTP requests on a libuv loop: libcurl's multi interface.
 *
 * The only file that includes curl. HTTP/1.1, connections kept alive, the
 * server's certificate and name always checked, no redirects, no proxy, no
 * .netrc. No callback runs inside curl or inside the call that started the
 * request, so any function here may be called from any of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/* Connections to one host at a time; requests beyond them wait. A stream
 * holds one for as long as it lasts. */
enum { HTTP_CONNECTIONS = 48 };

struct http_client;
struct http_transfer; /* one request under way */

/* PEM texts. ca NULL: whom the system trusts. cert and key: both or none. */
struct http_tls {
	const char *ca;
	const char *cert;
	const char *key;
};

struct http_answer {
	int status;	  /* 0: there was none, error says why */
	const char *body; /* NUL-terminated; "" for a stream */
	size_t len;
	uint64_t retry_after_ms; /* what the server asked for, or 0 */
	bool is_untrusted;	 /* the server's certificate was refused */
	bool is_too_large;	 /* it had more bytes than are taken */
	const char *error;	 /* "" where status is not 0 */
};

/* Ends the request; everything in answer is borrowed for the call. */
typedef void (*http_done)(void *owner, const struct http_answer *answer);

/* Bytes of a 2xx answer, as they come. The first call has len 0: the answer
 * has begun. */
typedef void (*http_chunk)(void *owner, const char *bytes, size_t len);

struct http_call {
	const char *method;
	const char *url;
	const char *const *headers; /* "Name: value", NULL ends; or NULL */
	const char *body;	    /* borrowed until the end; or NULL */
	size_t len;		    /* of body */
	const struct http_tls *tls; /* borrowed for the call; or NULL */
	bool allows_plain;	    /* http:// is fine too */
	uint64_t timeout_ms;	    /* for the whole of it; at least 1 */
	size_t max;		    /* bytes of the answer that are taken */
	http_chunk on_chunk;	    /* NULL: the body is collected */
	http_done on_done;
	void *owner; /* outlives the transfer */
};

/* agent is the User-Agent. Never NULL. */
struct http_client *http_client_new(uv_loop_t *loop, const char *agent);

/* Cancels what is under way and frees itself. NULL is fine. */
void http_client_close(struct http_client *client);

/* on_done follows exactly once unless it is cancelled. Never NULL. */
struct http_transfer *http_send(struct http_client *client,
	const struct http_call *call);

/* No callback of it is called any more; not after its on_done. */
void http_cancel(struct http_transfer *transfer);
