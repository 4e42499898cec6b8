/* An HTTP server as a daemon runs it: TLS from files, and a warning in the log,
 * at most once a minute, when connections end without a complete request, and
 * when some are closed in favour of others. */
#pragma once

#include "lib/httpd.h"

struct httpd_listener;

struct httpd_listener_options {
	const char *address; /* as httpd_options; outlives the listener */
	const struct tls_files *tls; /* NULL or no cert: plain HTTP */
	httpd_serve serve;
	void *owner;			 /* outlives the listener */
	const struct httpd_body *bodies; /* as httpd_options */
	size_t body_count;
};

/* Errors as tls_load() and httpd_new(). */
must_check int httpd_listener_new(struct httpd_listener **out, uv_loop_t *loop,
	const struct httpd_listener_options *options, struct error *err);

uint16_t httpd_listener_port(const struct httpd_listener *listener);

/* Open requests get a 503. NULL is fine. */
void httpd_listener_close(struct httpd_listener *listener);
