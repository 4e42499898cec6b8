#include "scheduler/server.h"

#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/exposition.h"
#include "lib/httpd_listener.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/extender.h"
#include "scheduler/metrics.h"
#include "scheduler/moves.h"
#include "scheduler/schedule.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 4096, METRICS_MAX = 1 << 20, REBALANCE_MAX = 1 << 20 };

struct server {
	const struct scheduler_config *config;
	struct schedule *sched;
	struct httpd_listener *listener;
	uint64_t started_us; /* wall clock */
};

static void serve_health(struct server *server, struct httpd_request *request)
{
	(void)server;
	httpd_reply(request, 200, "text/plain", "ok\n", strlen("ok\n"));
}

static void serve_ready(struct server *server, struct httpd_request *request)
{
	scoped_buffer struct buffer body = BUFFER_MAX(TEXT_MAX);
	int status = schedule_is_ready(server->sched, &body) ? 200 : 503;

	buffer_text(&body, body.len == 0 ? "ok\n" : "\n");
	httpd_reply(request, status, "text/plain", body.data, body.len);
}

static void serve_metrics(struct server *server, struct httpd_request *request)
{
	scoped_buffer struct buffer body = BUFFER_MAX(METRICS_MAX);
	struct scheduler_view view = schedule_view(server->sched);

	view.started_us = server->started_us;
	metrics_write(&body, &view, server->config->scheduler_name);
	httpd_reply(request, 200, exposition_type, body.data, body.len);
}

static void serve_rebalance(struct server *server,
	struct httpd_request *request)
{
	scoped_buffer struct buffer body = BUFFER_MAX(REBALANCE_MAX);

	if (strcmp(httpd_method(request), "GET") != 0) {
		httpd_reply_error(request, 405, "method not allowed, use GET");
		return;
	}
	moves_describe(schedule_moves(server->sched), &body);
	httpd_reply(request, 200, "application/json", body.data, body.len);
}

static void on_room(void *owner, int status, const struct buffer *body)
{
	httpd_reply(owner, status, "application/json", body->data, body->len);
}

/* The answer comes when plans were searched for. */
static void serve_room(struct server *server, struct httpd_request *request)
{
	if (strcmp(httpd_method(request), "GET") != 0) {
		httpd_reply_error(request, 405, "method not allowed, use GET");
		return;
	}
	moves_ask_room(schedule_moves(server->sched), on_room, request);
}

static void extend(struct server *server, struct httpd_request *request,
	enum extender_verb verb)
{
	scoped_buffer struct buffer out = BUFFER_MAX(EXTENDER_ANSWER_MAX);
	struct scheduler_view sched = schedule_view(server->sched);
	const struct extender_view view = {
		.cache = sched.cache,
		.policy = &server->config->scoring,
		.is_synced = sched.is_synced,
		.now_us = sched.now_us,
	};
	struct extender_request ask = { .verb = verb };
	enum extender_outcome outcome;
	struct error err;
	int r;

	if (strcmp(httpd_method(request), "POST") != 0) {
		httpd_reply_error(request, 405, "method not allowed, use POST");
		return;
	}
	ask.body = httpd_body(request, &ask.len);
	r = extender_answer(&out, &outcome, &view, &ask, &err);
	metrics_extender_request(sched.metrics, verb, outcome);
	if (r < 0) {
		httpd_reply_error(request, 400, "%s", err.text);
	} else {
		httpd_reply(request, 200, "application/json", out.data,
			out.len);
	}
}

static void serve_filter(struct server *server, struct httpd_request *request)
{
	extend(server, request, EXTENDER_FILTER);
}

static void serve_prioritize(struct server *server,
	struct httpd_request *request)
{
	extend(server, request, EXTENDER_PRIORITIZE);
}

static const struct route {
	const char *path;
	void (*serve)(struct server *server, struct httpd_request *request);
} routes[] = {
	{ "/healthz", serve_health },
	{ "/readyz", serve_ready },
	{ "/metrics", serve_metrics },
	{ "/v1/rebalance", serve_rebalance },
	{ "/v1/room", serve_room },
	{ "/extender/filter", serve_filter },
	{ "/extender/prioritize", serve_prioritize },
};

/* The routes that take a body. */
static const struct httpd_body bodies[] = {
	{ "POST", "/extender/filter", EXTENDER_BODY_MAX, false },
	{ "POST", "/extender/prioritize", EXTENDER_BODY_MAX, false },
};

static void on_request(void *owner, struct httpd_request *request)
{
	const char *path = httpd_path(request);

	for (size_t i = 0; i < count_of(routes); i++) {
		if (strcmp(path, routes[i].path) == 0) {
			routes[i].serve(owner, request);
			return;
		}
	}
	httpd_reply_error(request, 404,
		"no such path: %s; known paths: /healthz, /readyz, "
		"/metrics, /v1/rebalance, /v1/room, /extender/filter, "
		"/extender/prioritize",
		path);
}

int server_new(struct server **out, struct loop *loop,
	const struct scheduler_config *config, struct schedule *sched,
	struct error *err)
{
	struct server *server = xcalloc(1, sizeof(*server));
	int r;

	server->config = config;
	server->sched = sched;
	server->started_us = clock_wall_us();
	r = httpd_listener_new(&server->listener, loop_uv(loop),
		&(struct httpd_listener_options){ .address = config->http,
			.tls = &config->http_tls,
			.serve = on_request,
			.owner = server,
			.bodies = bodies,
			.body_count = count_of(bodies) },
		err);
	if (r < 0) {
		free(server);
		return r;
	}
	*out = server;
	return 0;
}

uint16_t server_port(const struct server *server)
{
	return httpd_listener_port(server->listener);
}

void server_close(struct server *server)
{
	if (server != NULL) {
		moves_forget_rooms(schedule_moves(server->sched));
		httpd_listener_close(server->listener);
		free(server);
	}
}
