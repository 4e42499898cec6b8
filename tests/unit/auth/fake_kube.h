/* A fake API server for tests: it records requests and the test answers them.
 * It replaces all of kube/client.h that a test links. */
#pragma once

#include "kube/client.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdlib.h>
#include <string.h>

enum { FAKE_REQUESTS = 256 };

struct kube_request {
	struct kube_call call;
	char path[512], body[4096];
};

static struct {
	struct kube_request open[FAKE_REQUESTS]; /* oldest first */
	size_t count;
	size_t sent; /* since the test began */
	bool is_closed;
} fake;

struct kube_client *kube_client_new(uv_loop_t *loop, struct kube_config *config)
{
	(void)loop;
	(void)config;
	return (struct kube_client *)&fake;
}

void kube_client_close(struct kube_client *client)
{
	if (client != NULL) {
		fake.is_closed = true;
		fake.count = 0;
	}
}

struct kube_request *kube_request_send(struct kube_client *client,
	const struct kube_call *call)
{
	struct kube_request *request = &fake.open[fake.count];

	assert_ptr_equal(client, &fake);
	assert_true(fake.count < FAKE_REQUESTS);
	fake.count++;
	fake.sent++;
	*request = (struct kube_request){ .call = *call };
	strncpy(request->path, call->path, sizeof(request->path) - 1);
	if (call->body != NULL) {
		assert_true(call->len < sizeof(request->body));
		memcpy(request->body, call->body, call->len);
	}
	return request;
}

/* The launcher informer needs these to link without the real client. No test
 * calls them. */
void kube_request_cancel(struct kube_request *request)
{
	(void)request;
	fail_msg("a request was cancelled");
}

uv_loop_t *kube_client_loop(const struct kube_client *client)
{
	(void)client;
	fail_msg("a test asked for the client's loop");
	return NULL;
}

/* Answers the oldest open request. */
static inline void fake_answer(int status, const char *body)
{
	struct kube_call call = fake.open[0].call;

	assert_true(fake.count > 0);
	fake.count--;
	memmove(&fake.open[0], &fake.open[1],
		fake.count * sizeof(fake.open[0]));
	call.on_done(call.owner,
		&(struct http_response){ .status = status,
			.body = body,
			.len = strlen(body),
			.error = status / 100 == 2 ? "" : "it says no" });
}

/* Checks the oldest open request. */
static inline void fake_expect(const char *method, const char *path,
	const char *part)
{
	assert_true(fake.count > 0);
	assert_string_equal(fake.open[0].call.method, method);
	assert_string_equal(fake.open[0].path, path);
	if (strstr(fake.open[0].body, part) == NULL) {
		fail_msg("'%s' lacks '%s'", fake.open[0].body, part);
	}
}

static inline int fake_setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	return 0;
}

#define FAKE_TOKENS "/apis/authentication.k8s.io/v1/tokenreviews"
#define FAKE_ACCESS "/apis/authorization.k8s.io/v1/subjectaccessreviews"

/* An agent's token on node n1, as Kubernetes 1.30 and later answers. */
#define FAKE_ACCOUNT(more)                                                     \
	"{\"status\":{\"authenticated\":true,"                                 \
	"\"audiences\":[\"plimsoll-aggregator\"],\"user\":{"                   \
	"\"username\":\"system:serviceaccount:ns:agent\",\"uid\":\"u1\","      \
	"\"groups\":[\"g1\",\"g2\"],\"extra\":{" more "}}}}"
#define FAKE_NODE "\"authentication.kubernetes.io/node-name\":[\"n1\"]"
#define FAKE_POD                                                               \
	"\"authentication.kubernetes.io/pod-name\":[\"p1\"],"                  \
	"\"authentication.kubernetes.io/pod-uid\":[\"pu1\"]"
#define FAKE_YES "{\"status\":{\"allowed\":true}}"
#define FAKE_NO "{\"status\":{\"allowed\":false,\"reason\":\"\"}}"
#define FAKE_BAD_TOKEN                                                         \
	"{\"status\":{\"user\":{},\"error\":\"token has expired\"}}"

static inline bool fake_is_asked(void *owner)
{
	(void)owner;
	return fake.count > 0;
}

/* Runs the loop until a request is open. */
static inline void fake_await(uv_loop_t *loop)
{
	run_until_true(loop, fake_is_asked, NULL);
}
