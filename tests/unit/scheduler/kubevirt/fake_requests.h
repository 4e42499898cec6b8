/* A fake API server: a request stays open until the test answers it. */
#pragma once

#include "kube/client.h"
#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/golden.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { FAKE_MAX = 128 };

struct kube_request {
	struct kube_call call;
	char *path, *body;
};

static struct {
	uv_loop_t loop;
	struct kube_request *open[FAKE_MAX]; /* oldest first */
	size_t count, sent;
} fake;

struct kube_request *kube_request_send(struct kube_client *client,
	const struct kube_call *call)
{
	struct kube_request *request = xcalloc(1, sizeof(*request));

	(void)client;
	assert_true(fake.count < FAKE_MAX);
	request->call = *call;
	request->path = xstrdup(call->path);
	request->body = call->body == NULL ? xstrdup("")
					   : xstrndup(call->body, call->len);
	fake.open[fake.count++] = request;
	fake.sent++;
	golden_tell("%s %s %s\n", call->method, call->path, request->body);
	return request;
}

void kube_request_cancel(struct kube_request *request)
{
	size_t at = 0;

	if (request == NULL) {
		return;
	}
	while (fake.open[at] != request) {
		at++;
		assert_true(at < fake.count);
	}
	fake.count--;
	memmove(&fake.open[at], &fake.open[at + 1],
		(fake.count - at) * sizeof(request));
	free(request->path);
	free(request->body);
	free(request);
}

uv_loop_t *kube_client_loop(const struct kube_client *client)
{
	(void)client;
	return &fake.loop;
}

/* The oldest open request of this method for this path, with whatever follows;
 * NULL: none. */
static inline struct kube_request *fake_find(const char *method,
	const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < fake.count; i++) {
		if (strcmp(fake.open[i]->call.method, method) == 0 &&
			strncmp(fake.open[i]->path, path, len) == 0 &&
			strchr("?/", fake.open[i]->path[len]) != NULL) {
			return fake.open[i];
		}
	}
	return NULL;
}

/* Ends the request. status 0: no answer. */
static inline void fake_answer(struct kube_request *request, int status,
	const char *body, const char *error)
{
	struct kube_call call = request->call;

	kube_request_cancel(request);
	call.on_done(call.owner,
		&(struct http_response){
			.status = status,
			.body = body,
			.len = strlen(body),
			.error = error,
		});
}
