#include "scheduler/server.h"

#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/exposition.h"
#include "lib/httpd.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/extender.h"
#include "scheduler/metrics.h"
#include "scheduler/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 4096, METRICS_MAX = 1 << 20 };

/* How often we look whether somebody talks nonsense, and how often we say so:
 * a probe that only connects is one of them. */
enum { LOOK_MS = 5000 };
#define STRANGERS_US UINT64_C(60000000)

struct server {
	const struct scheduler_config *config;
	struct placer *placer;
	struct httpd *http;
	struct timer *look;
	struct log_limit strangers;
};

static void serve_health(struct server *server, struct http_request *request)
{
	(void)server;
	http_reply(request, 200, "text/plain", "ok\n", strlen("ok\n"));
}

static void serve_ready(struct server *server, struct http_request *request)
{
	scoped_buffer struct buffer body = BUFFER_MAX(TEXT_MAX);
	int status = placer_is_ready(server->placer, &body) ? 200 : 503;

	buffer_text(&body, body.len == 0 ? "ok\n" : "\n");
	http_reply(request, status, "text/plain", body.data, body.len);
}

static void serve_metrics(struct server *server, struct http_request *request)
{
	scoped_buffer struct buffer body = BUFFER_MAX(METRICS_MAX);
	struct placer_view view = placer_view(server->placer);

	metrics_write(&body, &view, server->config->scheduler_name);
	http_reply(request, 200, exposition_type, body.data, body.len);
}

static void extend(struct server *server, struct http_request *request,
	enum extender_verb verb)
{
	scoped_buffer struct buffer out = BUFFER_MAX(EXTENDER_ANSWER_MAX);
	struct placer_view placer = placer_view(server->placer);
	const struct extender_view view = {
		.cache = placer.cache,
		.policy = &server->config->scoring,
		.is_synced = placer.is_synced,
		.now_us = placer.now_us,
	};
	struct extender_request ask = { .verb = verb };
	enum extender_outcome outcome;
	struct error err;
	int r;

	if (strcmp(http_method(request), "POST") != 0) {
		http_reply_error(request, 405, "an extender is asked by POST");
		return;
	}
	ask.body = http_body(request, &ask.len);
	r = extender_answer(&out, &outcome, &view, &ask, &err);
	metrics_extended(placer.metrics, verb, outcome);
	if (r < 0) {
		http_reply_error(request, r == -EFBIG ? 413 : 400, "%s",
			err.text);
	} else {
		http_reply(request, 200, "application/json", out.data, out.len);
	}
}

static void serve_filter(struct server *server, struct http_request *request)
{
	extend(server, request, EXTENDER_FILTER);
}

static void serve_prioritize(struct server *server,
	struct http_request *request)
{
	extend(server, request, EXTENDER_PRIORITIZE);
}

static const struct route {
	const char *path;
	void (*serve)(struct server *server, struct http_request *request);
} routes[] = {
	{ "/healthz", serve_health },
	{ "/readyz", serve_ready },
	{ "/metrics", serve_metrics },
	{ "/extender/filter", serve_filter },
	{ "/extender/prioritize", serve_prioritize },
};

static void on_request(void *owner, struct http_request *request)
{
	const char *path = http_path(request);

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (strcmp(path, routes[i].path) == 0) {
			routes[i].serve(owner, request);
			return;
		}
	}
	http_reply_error(request, 404,
		"there is no %s; try /healthz, /readyz, /metrics, "
		"/extender/filter or /extender/prioritize",
		path);
}

static void on_look(void *owner)
{
	struct server *server = owner;
	uint64_t count = httpd_strangers(server->http);

	if (count > 0 &&
		log_allow(&server->strangers, clock_monotonic_us(),
			STRANGERS_US, NULL)) {
		log_warning(
			"HTTP connections ended without a request: their "
			"clients are too slow or speak something else",
			log_str("listener", server->config->http),
			log_int("connections", (int64_t)count), LOG_END);
	}
}

int server_new(struct server **out, struct loop *loop,
	const struct scheduler_config *config, struct placer *placer,
	struct error *err)
{
	struct server *server = xcalloc(1, sizeof(*server));
	const struct tls_files *files = &config->http_tls;
	struct tls_material tls = { 0 };
	int r = tls_load(&tls, files, err);

	server->config = config;
	server->placer = placer;
	if (r == 0) {
		r = httpd_new(&server->http, loop_uv(loop),
			&(struct httpd_options){ .address = config->http,
				.serve = on_request,
				.owner = server,
				.tls = files->cert == NULL ? NULL : &tls },
			err);
	}
	tls_fini(&tls);
	if (r < 0) {
		free(server);
		return r;
	}
	server->look = timer_new(loop_uv(loop), on_look, server);
	timer_start(server->look, LOOK_MS, LOOK_MS);
	*out = server;
	return 0;
}

uint16_t server_port(const struct server *server)
{
	return httpd_port(server->http);
}

void server_close(struct server *server)
{
	if (server != NULL) {
		timer_close(server->look);
		httpd_close(server->http);
		free(server);
	}
}
