#include "lib/httpd_listener.h"

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"

#include <stdlib.h>

/* A TCP probe is such a connection too, hence at most one warning a minute. */
enum { CHECK_MS = 5000 };
#define LOG_AGAIN_US UINT64_C(60000000)

struct httpd_listener {
	struct httpd *httpd;
	const char *address;
	struct timer *check;
	struct log_limit failed, displaced;
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

int httpd_listener_new(struct httpd_listener **out, uv_loop_t *loop,
	const struct httpd_listener_options *options, struct error *err)
{
	static const struct tls_files none = { .cert = NULL };
	const struct tls_files *files =
		options->tls == NULL ? &none : options->tls;
	struct tls_material tls = { 0 };
	struct httpd *httpd;
	int r = tls_load(&tls, files, err);

	if (r == 0) {
		r = httpd_new(&httpd, loop,
			&(struct httpd_options){ .address = options->address,
				.serve = options->serve,
				.owner = options->owner,
				.bodies = options->bodies,
				.body_count = options->body_count,
				.tls = files->cert == NULL ? NULL : &tls },
			err);
	}
	tls_fini(&tls);
	if (r == 0) {
		*out = xcalloc(1, sizeof(**out));
		(*out)->httpd = httpd;
		(*out)->address = options->address;
		(*out)->check = timer_new(loop, check, *out);
		timer_start((*out)->check, CHECK_MS, CHECK_MS);
	}
	return r;
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
		free(listener);
	}
}
