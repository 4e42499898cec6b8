/* Fakes of the client and the timer, so that a test controls the
 * order of all events around the reflector. */
#pragma once

#include "kube/client.h"
#include "kube/json_value.h"
#include "kube/reflector.h"
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdlib.h>
#include <string.h>

struct timer {
	timer_fire fire;
	void *owner;
	bool is_set;
	uint64_t wait_ms;
};

struct kube_request {
	struct kube_call call;
	char *path;
};

static struct {
	struct timer timer;
	struct kube_request *request;
	unsigned sent;
	struct buffer calls; /* the calls of the handler */
	struct reflector *reflector;
	char close_on; /* closes the reflector in that call: o, g or s */
	bool timer_is_closed;
} world;

struct timer *timer_new(uv_loop_t *loop, timer_fire fire, void *owner)
{
	(void)loop;
	world.timer = (struct timer){ .fire = fire, .owner = owner };
	return &world.timer;
}

void timer_start(struct timer *timer, uint64_t first_ms, uint64_t repeat_ms)
{
	assert_int_equal(repeat_ms, 0);
	timer->is_set = true;
	timer->wait_ms = first_ms;
}

void timer_stop(struct timer *timer)
{
	timer->is_set = false;
}

void timer_close(struct timer *timer)
{
	timer->is_set = false;
	world.timer_is_closed = true;
}

uv_loop_t *kube_client_loop(const struct kube_client *client)
{
	(void)client;
	return NULL;
}

struct kube_request *kube_request_send(struct kube_client *client,
	const struct kube_call *call)
{
	struct kube_request *request = xcalloc(1, sizeof(*request));

	(void)client;
	assert_null(world.request);
	assert_false(world.timer_is_closed);
	request->call = *call;
	request->path = xstrdup(call->path);
	world.request = request;
	world.sent++;
	return request;
}

static void request_free(struct kube_request *request)
{
	free(request->path);
	free(request);
}

void kube_request_cancel(struct kube_request *request)
{
	if (request != NULL) {
		assert_ptr_equal(request, world.request);
		world.request = NULL;
		request_free(request);
	}
}
