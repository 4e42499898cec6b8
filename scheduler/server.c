#include "scheduler/server.h"

#include "auth/http_auth.h"
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/exposition.h"
#include "lib/http/httpd_listener.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/admission/admission_metrics.h"
#include "scheduler/admission/webhook.h"
#include "scheduler/extender.h"
#include "scheduler/metrics.h"
#include "scheduler/moves.h"
#include "scheduler/schedule.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 8192, METRICS_MAX = 1 << 20, REBALANCE_MAX = 1 << 20 };

struct server {
	const struct scheduler_config *config;
	struct schedule *sched;
	struct http_auth auth; /* serves the routes */
	struct httpd_listener *listener;
	struct webhook *webhook; /* NULL: none */
	uint64_t started_us;	 /* wall clock */
};

static void serve_live(void *owner, struct httpd_request *request)
{
	(void)owner;
	httpd_reply(request, 200, "text/plain", "ok\n", strlen("ok\n"));
}

/* A VM that nobody schedules is no reason to stop those that are. */
static void describe_admission(const struct server *server, struct buffer *body)
{
	scoped_buffer struct buffer text = BUFFER_MAX(TEXT_MAX);

	admission_check_describe(schedule_admission(server->sched), &text);
	if (text.len > 0) {
		buffer_text(body, body->len == 0 ? "ready; " : "\n");
		buffer_text(body, text.data);
	}
}

/* On a line of its own. */
static void describe_cache(const struct server *server, struct buffer *body)
{
	double age_s = schedule_view(server->sched).cache_age_s;

	buffer_printf(body, "%s\nthe cache is %.0f s old",
		body->len == 0 ? "ok" : "", age_s);
}

static void serve_ready(void *owner, struct httpd_request *request)
{
	const struct server *server = owner;
	scoped_buffer struct buffer body = BUFFER_MAX(TEXT_MAX);
	int status = schedule_is_ready(server->sched, &body) ? 200 : 503;

	if (status == 200) {
		describe_admission(server, &body);
		describe_cache(server, &body);
	}
	buffer_text(&body, "\n");
	httpd_reply(request, status, "text/plain", body.data, body.len);
}

static void serve_metrics(void *owner, struct httpd_request *request)
{
	const struct server *server = owner;
	scoped_buffer struct buffer body = BUFFER_MAX(METRICS_MAX);
	struct scheduler_view view = schedule_view(server->sched);

	view.http_expiry_s = httpd_listener_expiry_s(server->listener);
	view.webhook_expiry_s =
		server->webhook == NULL ? 0 : webhook_expiry_s(server->webhook);
	view.started_us = server->started_us;
	view.responses[0].listener = "http";
	httpd_listener_responses(server->listener, view.responses[0].classes);
	if (server->webhook != NULL) {
		view.responses[1].listener = "webhook";
		webhook_responses(server->webhook, view.responses[1].classes);
	}
	metrics_write(&body, &view, server->config->scheduler_name);
	admission_metrics_write(&body, schedule_admission(server->sched),
		server->webhook);
	httpd_reply(request, 200, exposition_type, body.data, body.len);
}

static void serve_rebalance(void *owner, struct httpd_request *request)
{
	const struct server *server = owner;
	scoped_buffer struct buffer body = BUFFER_MAX(REBALANCE_MAX);

	moves_describe(schedule_moves(server->sched), &body);
	httpd_reply(request, 200, "application/json", body.data, body.len);
}

static void on_room(void *owner, int status, const struct buffer *body)
{
	httpd_reply(owner, status, "application/json", body->data, body->len);
}

/* The answer comes when plans were searched for. */
static void serve_room(void *owner, struct httpd_request *request)
{
	const struct server *server = owner;

	moves_ask_room(schedule_moves(server->sched), on_room, request);
}

static void extend(const struct server *server, struct httpd_request *request,
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

static void serve_filter(void *owner, struct httpd_request *request)
{
	extend(owner, request, EXTENDER_FILTER);
}

static void serve_prioritize(void *owner, struct httpd_request *request)
{
	extend(owner, request, EXTENDER_PRIORITIZE);
}

static const struct httpd_route routes[] = {
	{ "/extender/filter", .post = serve_filter },
	{ "/extender/prioritize", .post = serve_prioritize },
	{ "/healthz", .get = serve_live, .is_open = true },
	{ "/livez", .get = serve_live, .is_open = true },
	{ "/metrics", .get = serve_metrics },
	{ "/readyz", .get = serve_ready, .is_open = true },
	{ "/v1/rebalance", .get = serve_rebalance },
	{ "/v1/room", .get = serve_room },
};

/* The routes that take a body. */
static const struct httpd_body bodies[] = {
	{ "POST", "/extender/filter", EXTENDER_BODY_MAX, false },
	{ "POST", "/extender/prioritize", EXTENDER_BODY_MAX, false },
};

static int open_listeners(struct server *server, uv_loop_t *loop,
	struct error *err)
{
	const struct scheduler_config *config = server->config;
	int r = httpd_listener_new(&server->listener, loop,
		&(struct httpd_listener_options){ .address = config->http,
			.tls = &config->http_tls,
			.serve = http_auth_serve,
			.owner = &server->auth,
			.bodies = bodies,
			.body_count = count_of(bodies) },
		err);

	if (r < 0 || config->webhook == NULL) {
		return r;
	}
	return webhook_new(&server->webhook, loop,
		&(struct webhook_options){ .address = config->webhook,
			.tls = &config->webhook_tls,
			.by = { .scheduler_name =
					config->webhook_scheduler_name,
				.storage = admission_check_storage(
					schedule_admission(server->sched)) } },
		err);
}

int server_new(struct server **out, const struct server_options *options,
	struct error *err)
{
	struct server *server = xcalloc(1, sizeof(*server));
	int r;

	server->config = options->config;
	server->sched = options->sched;
	server->started_us = clock_wall_us();
	server->auth = (struct http_auth){
		options->review,
		{ .routes = routes, .count = count_of(routes), .owner = server }
	};
	r = open_listeners(server, loop_uv(options->loop), err);
	if (r < 0) {
		httpd_listener_close(server->listener);
		free(server);
		return r;
	}
	admission_check_set_webhook(schedule_admission(server->sched),
		server->webhook);
	*out = server;
	return 0;
}

uint16_t server_port(const struct server *server)
{
	return httpd_listener_port(server->listener);
}

uint16_t server_webhook_port(const struct server *server)
{
	return server->webhook == NULL ? 0 : webhook_port(server->webhook);
}

void server_close(struct server *server)
{
	if (server != NULL) {
		moves_forget_rooms(schedule_moves(server->sched));
		admission_check_set_webhook(schedule_admission(server->sched),
			NULL);
		webhook_close(server->webhook);
		httpd_listener_close(server->listener);
		free(server);
	}
}
