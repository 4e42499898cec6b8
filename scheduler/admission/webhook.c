#include "scheduler/admission/webhook.h"

#include "lib/http/httpd_listener.h"
#include "lib/http/httpd_routes.h"
#include "lib/memory.h"

#include <stdlib.h>

#define WEBHOOK_PATH "/mutate-pods"

struct webhook {
	struct httpd_listener *listener;
	struct review_by by;
	struct httpd_routes routes;
	uint64_t reviews[REVIEW_OUTCOMES];
};

static const struct httpd_body bodies[] = {
	{ "POST", WEBHOOK_PATH, REVIEW_BODY_MAX, false },
};

static void serve_review(void *owner, struct httpd_request *request)
{
	struct webhook *webhook = owner;
	scoped_buffer struct buffer out = BUFFER_MAX(REVIEW_ANSWER_MAX);
	enum review_outcome outcome;
	struct error err;
	size_t len;
	const char *body = httpd_body(request, &len);
	int r = review_answer(&out, &outcome, &webhook->by, body, len, &err);

	webhook->reviews[outcome]++;
	if (r < 0) {
		httpd_reply_error(request, 400, "%s", err.text);
	} else {
		httpd_reply(request, 200, "application/json", out.data,
			out.len);
	}
}

static const struct httpd_route routes[] = {
	{ WEBHOOK_PATH, .post = serve_review },
};

int webhook_new(struct webhook **out, uv_loop_t *loop,
	const struct webhook_options *options, struct error *err)
{
	struct webhook *webhook = xcalloc(1, sizeof(*webhook));
	int r;

	webhook->by = options->by;
	webhook->routes = (struct httpd_routes){ .routes = routes,
		.count = count_of(routes),
		.owner = webhook };
	r = httpd_listener_new(&webhook->listener, loop,
		&(struct httpd_listener_options){ .address = options->address,
			.tls = options->tls,
			.use = "webhook",
			.serve = httpd_routes_serve,
			.owner = &webhook->routes,
			.bodies = bodies,
			.body_count = count_of(bodies) },
		err);
	if (r < 0) {
		free(webhook);
		return error_wrap(err, r, "--webhook");
	}
	*out = webhook;
	return 0;
}

uint16_t webhook_port(const struct webhook *webhook)
{
	return httpd_listener_port(webhook->listener);
}

void webhook_responses(const struct webhook *webhook,
	uint64_t out[HTTPD_CLASSES])
{
	httpd_listener_responses(webhook->listener, out);
}

int64_t webhook_expiry_s(const struct webhook *webhook)
{
	return httpd_listener_expiry_s(webhook->listener);
}

const char *webhook_certificate(const struct webhook *webhook)
{
	return httpd_listener_certificate(webhook->listener);
}

uint64_t webhook_reviews(const struct webhook *webhook,
	enum review_outcome outcome)
{
	return webhook->reviews[outcome];
}

void webhook_close(struct webhook *webhook)
{
	if (webhook != NULL) {
		httpd_listener_close(webhook->listener);
		free(webhook);
	}
}
