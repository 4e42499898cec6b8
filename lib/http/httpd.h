/* A small HTTP server: libmicrohttpd on its own polling thread, handlers on the
 * loop thread.
 *
 * Only httpd*.c include microhttpd. A request is suspended while the loop
 * thread has it, so a handler may reply at once or much later.
 *
 * A body is read only where a struct httpd_body allows one. Every other request
 * reaches the handler when its headers are complete, and if it announced a
 * body, the connection is closed after the response.
 *
 * Limits: 32 KiB of headers, and the sums and times of httpd_clients.h. Clients
 * share each sum by the rules of lib/fair_share.h. */
#pragma once

#include "lib/error.h"
#include "lib/http/httpd_clients.h"
#include "lib/tls/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum {
	HTTPD_CONNECTIONS = 200,
	HTTPD_PART_MAX = 4 << 20, /* one part of a streamed response */
	HTTPD_CLIENT_NAME_MAX = 256,
};

struct buffer;
struct httpd;
struct httpd_request;

/* Receives each complete request and must reply to it exactly once. */
typedef void (*httpd_serve)(void *owner, struct httpd_request *request);

/* Writes an error as the body of a response to a path. False: the usual one. */
typedef bool (*httpd_write_error)(struct buffer *out, const char *path,
	int status, const char *sentence);

/* A kind of request whose body is read. A larger body is a 413, and one that
 * HTTPD_BODIES_MAX does not admit a 503. A body in chunks, without a length in
 * the headers, is a 411, or counts as max until it is complete. */
struct httpd_body {
	const char *method, *path; /* an asterisk in path is one segment */
	size_t max;		   /* bytes */
	bool takes_chunks;
};

struct httpd_options {
	const char *address; /* "HOST:PORT", numeric; port 0 picks one */
	httpd_serve serve;
	void *owner;			 /* outlives the server */
	const struct httpd_body *bodies; /* outlives the server */
	size_t body_count;
	/* NULL: plain HTTP; else cert and key for TLS 1.2 or 1.3. Borrowed. */
	const struct tls_material *tls;
	/* Handshakes ask for a client certificate: httpd_client_name(). Else
	 * clients authenticate by token. */
	bool asks_certificates;
	/* NULL, or writes the body of an error instead of
	 * {"error":"sentence"}, as JSON and on any thread. */
	httpd_write_error write_error;
};

/* -EINVAL: not an address, or unusable TLS material; -EADDRINUSE, -EACCES. */
must_check int httpd_new(struct httpd **out, uv_loop_t *loop,
	const struct httpd_options *options, struct error *err);

/* Uses another certificate and key from the next connection on; the present
 * ones go on. Borrowed for the call.
 * -EINVAL: a server without TLS, or unusable material; the old one stays. */
must_check int httpd_set_tls(struct httpd *httpd,
	const struct tls_material *tls, struct error *err);

/* Replaces the authorities of client certificates, PEM, for all requests from
 * now on; at first there are none. For a server that asks for certificates.
 * -EINVAL: no certificates; the old ones stay. */
must_check int httpd_set_client_ca(struct httpd *httpd, const char *pem,
	struct error *err);

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

/* The client has hung up, at least its side. Nothing else tells of it. */
bool httpd_is_abandoned(const struct httpd_request *request);

/* Calls each() for every header, also for each of several with one name. Name
 * and value are borrowed. */
void httpd_each_header(const struct httpd_request *request,
	void (*each)(void *owner, const char *name, const char *value),
	void *owner);

/* Copies the common name of the client's certificate, HTTPD_CLIENT_NAME_MAX
 * bytes at most. -EACCES: the client has no certificate for clients of an
 * authority of httpd_set_client_ca(), or the server does not ask for one. */
must_check int httpd_client_name(char *out, const struct httpd_request *request,
	struct error *err);

/* Names the authenticated user, or whom it belongs to: from now on the request
 * counts for that name and no longer for the client's address. httpd_peer()
 * says which it is. */
void httpd_set_user(struct httpd_request *request, const char *user);
const char *httpd_peer(const struct httpd_request *request);

/* Takes a place until the reply begins: HTTPD_PLACES_OF_WAIT, if the request
 * may wait for more than this process. False: its peer has no more of them, or
 * all together have none, and the request has ended with 429. */
bool httpd_take_place(struct httpd_request *request, bool may_wait);

/* Takes one of the HTTPD_STREAMS seats for this request until it ends. False:
 * there is none, and the request has ended with 503. */
bool httpd_take_stream(struct httpd_request *request);

/* Ends the request. body is copied; type is a media type. Status 401 adds the
 * WWW-Authenticate header of RFC 9110 15.5.2, and 429 a Retry-After. If
 * HTTPD_UNREAD_MAX would be exceeded, the response is a 503 instead. */
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
 * a seat of httpd_take_stream(). */
void httpd_reply_stream(struct httpd_request *request, int status,
	const char *type, const struct httpd_stream *stream);

/* Ends the request with {"error":"sentence"}, or as write_error writes it. */
void httpd_reply_error(struct httpd_request *request, int status,
	const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The version of libmicrohttpd that the program runs with. */
const char *httpd_library_version(void);
