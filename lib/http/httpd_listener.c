#include "lib/http/httpd_listener.h"

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/tls/tls_watch.h"

#include <stdlib.h>
#include <string.h>

/* A TCP probe is such a connection too, hence at most one warning a minute. */
enum { CHECK_MS = 5000 };
#define LOG_AGAIN_US UINT64_C(60000000)

struct httpd_listener {
	struct httpd *httpd;
	const char *address;
	struct timer *check;
	struct log_limit failed, displaced;
	struct tls_watch *tls; /* NULL: plain HTTP */
	struct tls_watcher on_tls;
};

static void check(void *owner)
{
	struct httpd_listener *listener = owner;
	struct client_counts counts = httpd_client_counts(listener->httpd);
	uint64_t now_us = clock_monotonic_us();

	if (counts.failed > 0 &&
		log_allow(&listener->failed, now_us, LOG_AGAIN_US, NULL)) {
		log_warning(
			"HTTP connections ended without a request: their "
			"clients are too slow or speak something else",
			log_str("listener", listener->address),
			log_int("connections", (int64_t)counts.failed),
			LOG_END);
	}
	if (counts.displaced > 0 &&
		log_allow(&listener->displaced, now_us, LOG_AGAIN_US, NULL)) {
		log_warning(
			"HTTP connections were closed in favour of others: "
			"their clients held the most, or were too slow",
			log_str("listener", listener->address),
			log_int("connections", (int64_t)counts.displaced),
			LOG_END);
	}
}

static int set_tls(void *owner, const struct tls_material *tls,
	struct error *err)
{
	struct httpd_listener *listener = owner;

	return httpd_set_tls(listener->httpd, tls, err);
}

/* Without a certificate the server is plain; a key alone is an error. */
static bool has_tls(const struct tls_files *files)
{
	return files != NULL && (files->cert != NULL || files->key != NULL);
}

int httpd_listener_new(struct httpd_listener **out, uv_loop_t *loop,
	const struct httpd_listener_options *options, struct error *err)
{
	struct tls_watch *watch = NULL;
	struct httpd_listener *listener;
	struct httpd *httpd = NULL;
	int r = 0;

	if (has_tls(options->tls)) {
		r = tls_watch_new(&watch, loop, options->tls, TLS_READER_OTHER,
			options->use == NULL ? "http" : options->use, err);
	}
	if (r == 0) {
		r = httpd_new(&httpd, loop,
			&(struct httpd_options){ .address = options->address,
				.serve = options->serve,
				.owner = options->owner,
				.bodies = options->bodies,
				.body_count = options->body_count,
				.asks_certificates = options->asks_certificates,
				.write_error = options->write_error,
				.tls = tls_watch_material(watch) },
			err);
	}
	if (r < 0) {
		tls_watch_close(watch);
		return r;
	}
	listener = xcalloc(1, sizeof(*listener));
	listener->httpd = httpd;
	listener->address = options->address;
	listener->check = timer_new(loop, check, listener);
	timer_start(listener->check, CHECK_MS, CHECK_MS);
	listener->tls = watch;
	listener->on_tls.set = set_tls;
	listener->on_tls.owner = listener;
	if (watch != NULL) {
		tls_watch_add(watch, &listener->on_tls);
	}
	*out = listener;
	return 0;
}

int httpd_listener_set_client_ca(struct httpd_listener *listener,
	const char *pem, struct error *err)
{
	return httpd_set_client_ca(listener->httpd, pem, err);
}

int64_t httpd_listener_expiry_s(const struct httpd_listener *listener)
{
	return listener == NULL ? 0 : tls_watch_expiry_s(listener->tls);
}

void httpd_listener_responses(const struct httpd_listener *listener,
	uint64_t out[HTTPD_CLASSES])
{
	if (listener == NULL) {
		memset(out, 0, HTTPD_CLASSES * sizeof(*out));
	} else {
		httpd_responses_read(listener->httpd, out);
	}
}

const char *httpd_listener_certificate(const struct httpd_listener *listener)
{
	const struct tls_material *tls = tls_watch_material(listener->tls);

	return tls == NULL ? NULL : tls->cert;
}

uint16_t httpd_listener_port(const struct httpd_listener *listener)
{
	return httpd_port(listener->httpd);
}

void httpd_listener_close(struct httpd_listener *listener)
{
	if (listener != NULL) {
		timer_close(listener->check);
		httpd_close(listener->httpd);
		tls_watch_close(listener->tls);
		free(listener);
	}
}
