/* A small HTTP server: libmicrohttpd with its own poll thread, handlers on the
 * loop's thread.
 *
 * The only file that includes microhttpd. A request is suspended while it
 * crosses to the loop, so a handler may answer at once or much later. Limits:
 * HTTPD_CONNECTIONS at a time, 32 KiB of headers, HTTPD_BODY_MAX of body, and
 * a connection whose next request is not complete after 8 s is cut off, which
 * bounds silent clients and those that drip a byte at a time. For clients that
 * do not read there are two minutes for an answer, and HTTPD_UNREAD_MAX. */
#pragma once

#include "lib/error.h"

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum {
	HTTPD_CONNECTIONS = 200,
	HTTPD_BODY_MAX = 4 << 20,
	/* Answers that were given and not read yet, in all. One alone may be
	 * larger. */
	HTTPD_UNREAD_MAX = 128 << 20,
};

struct httpd;
struct http_request;

/* Gets each complete request and owes it exactly one reply. */
typedef void (*http_serve)(void *owner, struct http_request *request);

/* Listens on "HOST:PORT" (IPv4 or [IPv6]; port 0 picks one).
 * -EINVAL: not an address; -EADDRINUSE; -EACCES. owner outlives the server. */
must_check int httpd_new(struct httpd **out, uv_loop_t *loop,
	const char *address, http_serve serve, void *owner, struct error *err);

uint16_t httpd_port(const struct httpd *httpd);

/* Requests still open get 503. Frees itself. NULL is fine. */
void httpd_close(struct httpd *httpd);

/* All borrowed until the reply. The path is percent-decoded and without the
 * query; it never holds a NUL. */
const char *http_method(const struct http_request *request);
const char *http_path(const struct http_request *request);
const char *http_header(const struct http_request *request, const char *name);
const char *http_query(const struct http_request *request, const char *name);
const char *http_body(const struct http_request *request, size_t *len);

/* Ends the request. body is copied; type is a media type. With too many bytes
 * unread it becomes a 503. */
void http_reply(struct http_request *request, int status, const char *type,
	const char *body, size_t len);

/* Ends the request with {"error":"sentence"}. */
void http_reply_error(struct http_request *request, int status,
	const char *format, ...) __attribute__((format(printf, 3, 4)));
