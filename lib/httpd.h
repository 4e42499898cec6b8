/* A small HTTP server: libmicrohttpd on its own polling thread, handlers on the
 * loop thread.
 *
 * Only lib/httpd*.c include microhttpd. A request is suspended while the loop
 * thread has it, so a handler may reply at once or much later.
 *
 * A body is read only where a struct httpd_body allows one. Every other request
 * reaches the handler when its headers are complete, and if it announced a
 * body, the connection is closed after the response.
 *
 * Limits: 32 KiB of headers, the sums below, and the times of
 * lib/httpd_clients.h for a request and for reading the response. Clients share
 * each sum by the rules of lib/places.h. */
#pragma once

#include "lib/error.h"
#include "lib/httpd_clients.h"
#include "lib/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum {
	HTTPD_CONNECTIONS = 200,
	/* From here on each new connection displaces another one. */
	HTTPD_CONNECTIONS_FULL = 150,
	/* Bytes of all bodies that are received or served, by the length that
	 * the clients announce: eight of the largest that a program accepts,
	 * and small beside the memory that a program has. */
	HTTPD_BODIES_MAX = 16 << 20,
	/* Bytes of all responses that clients have not read yet. A single
	 * response may be larger. */
	HTTPD_UNREAD_MAX = 128 << 20,
	HTTPD_STREAMS = 16,	  /* streamed responses at a time */
	HTTPD_PART_MAX = 4 << 20, /* one part of a streamed response */
};

struct buffer;
struct httpd;
struct httpd_request;

/* Receives each complete request and must reply to it exactly once. */
typedef void (*httpd_serve)(void *owner, struct httpd_request *request);

/* A kind of request whose body is read. Its length must be known from the
 * headers, or the response is a 411; a larger body is a 413, and one that
 * HTTPD_BODIES_MAX does not admit a 503. */
struct httpd_body {
	const char *method, *path; /* as httpd_method(), httpd_path() */
	size_t max;		   /* bytes */
};

struct httpd_options {
	const char *address; /* "HOST:PORT", numeric; port 0 picks one */
	httpd_serve serve;
	void *owner;			 /* outlives the server */
	const struct httpd_body *bodies; /* outlives the server */
	size_t body_count;
	/* NULL: plain HTTP; otherwise cert and key for HTTPS with TLS 1.2 or
	 * 1.3. Borrowed for the call. Clients authenticate by token, not by
	 * certificate. */
	const struct tls_material *tls;
};

/* -EINVAL: not an address, or unusable TLS material; -EADDRINUSE, -EACCES. */
must_check int httpd_new(struct httpd **out, uv_loop_t *loop,
	const struct httpd_options *options, struct error *err);

uint16_t httpd_port(const struct httpd *httpd);

/* Returns the counts since the last call. */
struct client_counts httpd_client_counts(struct httpd *httpd);

/* Open requests get a 503. Frees itself. NULL is fine. */
void httpd_close(struct httpd *httpd);

/* All results are borrowed until the reply. The path is percent-decoded, has no
 * query and holds no NUL. */
const char *httpd_method(const struct httpd_request *request);
const char *httpd_path(const struct httpd_request *request);
const char *httpd_header(const struct httpd_request *request, const char *name);
const char *httpd_query(const struct httpd_request *request, const char *name);
const char *httpd_body(const struct httpd_request *request, size_t *len);

/* Names the authenticated user: from now on the request counts for that name
 * and no longer for the client's address. */
void httpd_set_user(struct httpd_request *request, const char *user);

/* Takes one of the HTTPD_STREAMS places for this request until it ends. False:
 * there is none, and the request has ended with 503. */
bool httpd_take_stream(struct httpd_request *request);

/* Ends the request. body is copied; type is a media type. Status 401 adds the
 * WWW-Authenticate header of RFC 9110 15.5.2. If HTTPD_UNREAD_MAX would be
 * exceeded, the response is a 503 instead. */
void httpd_reply(struct httpd_request *request, int status, const char *type,
	const char *body, size_t len);

/* A response that is generated while the client reads it. */
struct httpd_stream {
	/* On the loop thread: appends the next part, at most HTTPD_PART_MAX
	 * bytes, or nothing, and is then called again in the next turn of the
	 * loop. False: that was the last part. */
	bool (*next)(void *owner, struct buffer *out);
	/* On the loop thread, exactly once: all parts were read, the client is
	 * gone, or the server closes. */
	void (*done)(void *owner);
	void *owner;
};

/* Ends the request with a response of any length, with only one part in memory
 * at a time. next() is not called before this function returns. The request has
 * a place of httpd_take_stream(). */
void httpd_reply_stream(struct httpd_request *request, int status,
	const char *type, const struct httpd_stream *stream);

/* Ends the request with {"error":"sentence"}. */
void httpd_reply_error(struct httpd_request *request, int status,
	const char *format, ...) __attribute__((format(printf, 3, 4)));
