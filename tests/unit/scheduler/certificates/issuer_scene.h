/* The issuer without an API server: each request is one that the test answers,
 * or that a store of Secrets does. For one test program, with
 * WRAP_test_x = $(FAKE_ISSUER) in the Makefile. */
#pragma once

#include "kube/client.h"
#include "kube/json_value.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/certificates/issuer.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At most one request is open. */
struct kube_request {
	struct kube_call call;
};

static struct {
	struct kube_request request;
	bool is_open;
	timer_fire fire;
	void *owner;
	uint64_t wait_ms; /* of the timer's last start */
	unsigned ends, successes;
	char path[256]; /* of the last request, as the next two */
	const char *type;
	char *body;
} scene;

struct kube_request *kube_request_send(struct kube_client *client,
	const struct kube_call *call)
{
	(void)client;
	assert_false(scene.is_open);
	scene.is_open = true;
	scene.request.call = *call;
	(void)snprintf(scene.path, sizeof(scene.path), "%s", call->path);
	scene.type = call->type;
	free(scene.body);
	scene.body = xstrndup(call->body, call->len);
	return &scene.request;
}

void kube_request_cancel(struct kube_request *request)
{
	(void)request;
}

uv_loop_t *kube_client_loop(const struct kube_client *client)
{
	(void)client;
	return NULL;
}

struct timer *__wrap_timer_new(uv_loop_t *loop, timer_fire fire, void *owner);
void __wrap_timer_start(struct timer *timer, uint64_t first_ms,
	uint64_t repeat_ms);
void __wrap_timer_close(struct timer *timer);

struct timer *__wrap_timer_new(uv_loop_t *loop, timer_fire fire, void *owner)
{
	(void)loop;
	scene.fire = fire;
	scene.owner = owner;
	return NULL;
}

void __wrap_timer_start(struct timer *timer, uint64_t first_ms,
	uint64_t repeat_ms)
{
	(void)timer;
	(void)repeat_ms;
	scene.wait_ms = first_ms;
}

void __wrap_timer_close(struct timer *timer)
{
	(void)timer;
}

static void on_done(void *owner, bool succeeded)
{
	(void)owner;
	scene.ends++;
	scene.successes += succeeded;
}

/* The timer fires after its time: the request is sent. */
static void send_next(void)
{
	fake_clock_move(scene.wait_ms * 1000);
	scene.wait_ms = 0;
	scene.fire(scene.owner);
	assert_true(scene.is_open);
	scene.is_open = false;
}

static void answer_sent(int status, const char *body)
{
	const struct http_response response = { .status = status,
		.body = body,
		.len = strlen(body),
		.error = status == 200 ? "" : body };

	scene.request.call.on_done(scene.request.call.owner, &response);
}

static inline int scene_begin(void **state)
{
	(void)state;
	scene.ends = scene.successes = 0;
	scene.wait_ms = 0;
	scene.body = NULL;
	return 0;
}

static inline int scene_end(void **state)
{
	(void)state;
	free(scene.body);
	return 0;
}

static const struct certificates_config everything = {
	.namespace_name = "plimsoll",
	.agents_namespace = "plimsoll-agents",
	.days = 365,
	.webhook = "the-webhook",
	.api_service = "v1.load.example",
	.ca_config_map = "the-ca",
};

/* The text at a path of the last body; the caller frees it. */
static char *sent_text(const char *path, const char *list)
{
	struct json_value *root = NULL;
	const struct json_value *from;
	char *text;

	assert_int_equal(
		json_value_parse(&root, scene.body, strlen(scene.body), NULL),
		0);
	from = list == NULL ? root
			    : json_value_first(json_value_get(root, list));
	text = xstrdup(json_value_text_at(from, path, "(none)"));
	json_value_free(root);
	return text;
}

#define SECRET(namespace, name)                                                \
	"/api/v1/namespaces/" namespace "/secrets/plimsoll-" name
#define MERGE "application/merge-patch+json"
