/* A fake API server: the watches deliver what a test wants, and requests stay
 * open until a test answers them. */
#pragma once

#include "kube/client.h"
#include "kube/reflector.h"
#include "lib/clock.h"
#include "lib/loop.h"
#include "scheduler/metrics.h"
#include "scheduler/schedule.h"
#include "tests/support/cm.h"
#include "tests/support/fake_timers.h"
#include "tests/support/golden.h"
#include "tests/unit/scheduler/given.h"

struct kube_request {
	struct kube_call call;
	char *path, *body;
};

enum { REQUESTS_MAX = 512, MANY_PODS = 200, OTHERS_MAX = 16, TOLD_MAX = 20 };

struct reflector {
	const char *path;
	struct reflector_handler handler;
	uint64_t contact_us;
};

static struct {
	uv_loop_t loop;
	struct scheduler_config config;
	struct schedule *sched;
	struct reflector nodes, pods, failed, others[OTHERS_MAX];
	size_t other_count;
	bool is_synced;
	bool is_away; /* the watches are interrupted */
	struct kube_request *open[REQUESTS_MAX];
	size_t count;
	size_t bindings;	  /* requested */
	size_t conditions;	  /* requested */
	unsigned told;		  /* to the golden section of the test */
	unsigned lists;		  /* requested again, of pods */
	struct kube_call version; /* the last request for the version */
} world;

struct reflector *reflector_new(struct kube_client *client,
	const struct reflector_options *options,
	const struct reflector_handler *handler)
{
	const char *selector =
		options->field_selector == NULL ? "" : options->field_selector;
	bool is_failed = strstr(selector, "phase=Failed") != NULL;
	bool is_pods = strstr(selector, "phase!=Failed") != NULL;
	bool is_nodes = strcmp(options->path, "/api/v1/nodes") == 0;
	struct reflector *r = is_pods ? &world.pods
		: is_failed	      ? &world.failed
		: is_nodes	      ? &world.nodes
				      : &world.others[world.other_count++];

	(void)client;
	assert_true(world.other_count < OTHERS_MAX);
	r->path = options->path;
	r->handler = *handler;
	return r;
}

struct reflector_state reflector_state(const struct reflector *reflector)
{
	return (struct reflector_state){
		.is_synced = world.is_synced,
		.is_watching = !world.is_away,
		.contact_us = reflector->contact_us,
		.last_error = "",
	};
}

void reflector_close(struct reflector *reflector)
{
	(void)reflector;
}

void reflector_list_again(struct reflector *reflector)
{
	world.lists += reflector == &world.pods;
}

/* Its first request is that for the version, which a test answers with
 * answer_version(). */
struct kube_request *kube_request_send(struct kube_client *client,
	const struct kube_call *call)
{
	struct kube_request *request;

	(void)client;
	if (strcmp(call->path, "/version") == 0) {
		world.version = *call;
		return NULL;
	}
	request = xcalloc(1, sizeof(*request));
	assert_true(world.count < REQUESTS_MAX);
	request->call = *call;
	request->path = xstrdup(call->path);
	request->body = xstrdup(call->body == NULL ? "" : call->body);
	world.open[world.count++] = request;
	if (world.told++ < TOLD_MAX) {
		golden_tell("%s %s %s\n", call->method, call->path,
			request->body);
	}
	if (strstr(call->path, "/binding") != NULL) {
		world.bindings++;
	}
	if (strcmp(call->method, "PATCH") == 0) {
		world.conditions++;
	}
	return request;
}

static inline void request_free(struct kube_request *request)
{
	free(request->path);
	free(request->body);
	free(request);
}

void kube_request_cancel(struct kube_request *request)
{
	for (size_t i = 0; request != NULL && i < world.count; i++) {
		if (world.open[i] == request) {
			world.open[i] = world.open[--world.count];
			request_free(request);
			return;
		}
	}
}

uv_loop_t *kube_client_loop(const struct kube_client *client)
{
	(void)client;
	return &world.loop;
}

const char *kube_client_namespace(const struct kube_client *client)
{
	(void)client;
	return "plimsoll";
}
