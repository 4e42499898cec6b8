/* A small HTTP server: libmicrohttpd with its own poll thread, handlers on the
 * loop's thread.
 *
 * Only lib/httpd*.c include microhttpd. A request is suspended while it
 * crosses to the loop, so a handler may answer at once or much later. Limits:
 * HTTPD_CONNECTIONS at a time, 32 KiB of headers, HTTPD_BODY_MAX of body, some
 * seconds for a request and two minutes for reading the answer
 * (lib/httpd_clients.h), and HTTPD_UNREAD_MAX. */
#pragma once

#include "lib/error.h"
#include "lib/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum {
	HTTPD_CONNECTIONS = 200,
	HTTPD_BODY_MAX = 4 << 20,
	/* Answers that were given and not read yet, in all. One alone may be
	 * larger. */
	HTTPD_UNREAD_MAX = 128 << 20,
	HTTP_PART_MAX = 4 << 20, /* of one part of a streamed answer */
};

struct buffer;
struct httpd;
struct http_request;

/* Gets each complete request and owes it exactly one reply. */
typedef void (*http_serve)(void *owner, struct http_request *request);

struct httpd_options {
	const char *address; /* "HOST:PORT", numeric; port 0 picks one */
	http_serve serve;
	void *owner; /* outlives the server */
	/* cert and key: HTTPS, TLS 1.2 or 1.3. Borrowed for the call; NULL:
	 * plain HTTP. Who asks is told by tokens, not by certificates. */
	const struct tls_material *tls;
};

/* -EINVAL: not an address, or TLS material that is no good; -EADDRINUSE,
 * -EACCES. */
must_check int httpd_new(struct httpd **out, uv_loop_t *loop,
	const struct httpd_options *options, struct error *err);

uint16_t httpd_port(const struct httpd *httpd);

/* How many connections ended, since the last call, without a complete request
 * ever: their clients were too slow, or spoke something else than HTTP or the
 * TLS that is wanted. */
uint64_t httpd_strangers(struct httpd *httpd);

/* Requests still open get 503. Frees itself. NULL is fine. */
void httpd_close(struct httpd *httpd);

/* All borrowed until the reply. The path is percent-decoded and without the
 * query; it never holds a NUL. */
const char *http_method(const struct http_request *request);
const char *http_path(const struct http_request *request);
const char *http_header(const struct http_request *request, const char *name);
const char *http_query(const struct http_request *request, const char *name);
const char *http_body(const struct http_request *request, size_t *len);

/* Ends the request. body is copied; type is a media type. With status 401 the
 * answer asks for a bearer token, as RFC 9110 15.5.2 wants it to. With too many
 * bytes unread it becomes a 503. */
void http_reply(struct http_request *request, int status, const char *type,
	const char *body, size_t len);

/* An answer that is made while it is read. */
struct http_stream {
	/* On the loop's thread: appends the next part, at most HTTP_PART_MAX
	 * bytes; nothing at all if it needs another turn of the loop to go on.
	 * False: that was the last. */
	bool (*next)(void *owner, struct buffer *out);
	/* On the loop's thread, exactly once: all was given, or the client is
	 * gone, or the server closes. */
	void (*done)(void *owner);
	void *owner;
};

/* Ends the request with an answer of any length of which one part at a time is
 * in memory. next() is not called inside. */
void http_reply_stream(struct http_request *request, int status,
	const char *type, const struct http_stream *stream);

/* Ends the request with {"error":"sentence"}. */
void http_reply_error(struct http_request *request, int status,
	const char *format, ...) __attribute__((format(printf, 3, 4)));
