/* An HTTP server as a daemon runs it: TLS from files, which are read again when
 * they change (lib/tls/tls_watch.h), and a warning in the log, at most once a
 * minute, when connections end without a complete request, and when some are
 * closed in favour of others. */
#pragma once

#include "lib/http/httpd.h"
#include "lib/http/httpd_response.h"

struct httpd_listener;

struct httpd_listener_options {
	const char *address; /* as httpd_options; outlives the listener */
	const struct tls_files *tls; /* NULL or no cert: plain HTTP; outlives */
	const char *use;	     /* as tls_watch_new(); NULL: "http" */
	bool asks_certificates;	     /* as httpd_options */
	httpd_write_error write_error; /* as httpd_options */
	httpd_serve serve;
	void *owner;			 /* outlives the listener */
	const struct httpd_body *bodies; /* as httpd_options */
	size_t body_count;
};

/* Errors as tls_watch_new() and httpd_new(). */
must_check int httpd_listener_new(struct httpd_listener **out, uv_loop_t *loop,
	const struct httpd_listener_options *options, struct error *err);

uint16_t httpd_listener_port(const struct httpd_listener *listener);

/* As httpd_set_client_ca(). */
must_check int httpd_listener_set_client_ca(struct httpd_listener *listener,
	const char *pem, struct error *err);

/* As tls_watch_expiry_s(); NULL is fine. */
int64_t httpd_listener_expiry_s(const struct httpd_listener *listener);

/* As httpd_responses_read(). NULL is fine: all are 0. */
void httpd_listener_responses(const struct httpd_listener *listener,
	uint64_t out[HTTPD_CLASSES]);

/* The certificate for new connections, as PEM; NULL: plain HTTP. Borrowed until
 * the loop runs on. */
const char *httpd_listener_certificate(const struct httpd_listener *listener);

/* Open requests get a 503. NULL is fine. */
void httpd_listener_close(struct httpd_listener *listener);
