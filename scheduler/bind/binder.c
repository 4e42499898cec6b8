#include "scheduler/bind/binder.h"

#include "kube/client.h"
#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/bind/bodies.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { REREAD_MS = 1000, BODY_MAX = 65536 };

/* The binding of one pod. */
struct binding {
	struct binder *binder;
	LIST_ENTRY(binding) link;
	char *namespace, *name, *uid, *node, *why;
	struct kube_request *request; /* NULL while the timer runs */
	struct timer *reread;
	int reads, refusals; /* reads that failed; those with a 4xx answer */
};

struct binder {
	struct kube_client *client;
	uv_loop_t *loop;
	bind_done done;
	void *owner;
	LIST_HEAD(binding_list, binding) open;
	size_t pending;
};

struct binder *binder_new(struct kube_client *client, uv_loop_t *loop,
	bind_done done, void *owner)
{
	struct binder *binder = xcalloc(1, sizeof(*binder));

	*binder = (struct binder){
		.client = client,
		.loop = loop,
		.done = done,
		.owner = owner,
	};
	LIST_INIT(&binder->open);
	return binder;
}

static void binding_free(struct binding *binding)
{
	LIST_REMOVE(binding, link);
	binding->binder->pending--;
	kube_request_cancel(binding->request);
	timer_close(binding->reread);
	free(binding->namespace);
	free(binding->name);
	free(binding->uid);
	free(binding->node);
	free(binding->why);
	free(binding);
}

static void finish(struct binding *binding, enum bind_outcome outcome,
	const char *error)
{
	struct binder *binder = binding->binder;
	struct bind_result result = {
		.uid = binding->uid,
		.node = binding->node,
		.why = binding->why,
		.outcome = outcome,
		.error = error,
	};

	binder->done(binder->owner, &result);
	binding_free(binding);
}

/* Decides by the pod as the API server has it now. */
static void resolve(struct binding *binding, const struct json_value *pod)
{
	const char *uid = json_value_text_at(pod, "metadata/uid", "");
	const char *node = json_value_text_at(pod, "spec/nodeName", "");

	if (strcmp(uid, binding->uid) != 0) {
		finish(binding, BIND_GONE, "the pod was replaced");
	} else if (strcmp(node, binding->node) == 0) {
		finish(binding, BIND_DONE, "");
	} else if (*node != '\0') {
		finish(binding, BIND_GONE, "another scheduler bound it");
	} else {
		finish(binding, BIND_REFUSED, "the binding was lost");
	}
}

/* An answer that stays the same until an administrator changes something. */
static bool is_refusal(int status)
{
	return status >= 400 && status < 500 && status != 408 && status != 429;
}

/* Reads again after a pause, unless that was done often enough. */
static void read_later(struct binding *binding,
	const struct http_response *response)
{
	binding->reads++;
	binding->refusals += is_refusal(response->status);
	if (binding->reads >= BINDER_READS_MAX ||
		binding->refusals >= BINDER_REFUSALS_MAX) {
		finish(binding, BIND_UNKNOWN, response->error);
	} else {
		timer_start(binding->reread, REREAD_MS, 0);
	}
}

static void on_reread(void *owner, const struct http_response *response)
{
	struct binding *binding = owner;
	struct json_value *pod = NULL;

	binding->request = NULL;
	if (response->status == 404) {
		finish(binding, BIND_GONE, response->error);
	} else if (response->status == 200 &&
		json_value_parse(&pod, response->body, response->len, NULL) ==
			0) {
		resolve(binding, pod);
		json_value_free(pod);
	} else {
		read_later(binding, response);
	}
}

static void reread(void *owner)
{
	struct binding *binding = owner;
	scoped_free char *path = xasprintf("/api/v1/namespaces/%s/pods/%s",
		binding->namespace, binding->name);
	struct kube_call call = {
		.method = "GET",
		.path = path,
		.on_done = on_reread,
		.owner = binding,
	};

	binding->request = kube_request_send(binding->binder->client, &call);
}

static void on_bound(void *owner, const struct http_response *response)
{
	struct binding *binding = owner;

	binding->request = NULL;
	if (response->status >= 200 && response->status < 300) {
		finish(binding, BIND_DONE, "");
	} else if (response->status == 404) {
		finish(binding, BIND_GONE, response->error);
	} else if (is_refusal(response->status) && response->status != 409) {
		finish(binding, BIND_REFUSED, response->error);
	} else {
		/* No response, a conflict or a server error: the pod may be
		 * bound, by us or by another scheduler. */
		reread(binding);
	}
}

void binder_bind(struct binder *binder, const struct pod *pod, const char *node,
	const char *why)
{
	struct binding *binding = xcalloc(1, sizeof(*binding));
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	scoped_free char *path =
		xasprintf("/api/v1/namespaces/%s/pods/%s/binding",
			pod->namespace, pod->name);
	struct kube_call call = {
		.method = "POST",
		.path = path,
		.on_done = on_bound,
		.owner = binding,
	};

	binding->binder = binder;
	binding->namespace = xstrdup(pod->namespace);
	binding->name = xstrdup(pod->name);
	binding->uid = xstrdup(pod->uid);
	binding->node = xstrdup(node);
	binding->why = xstrdup(why);
	binding->reread = timer_new(binder->loop, reread, binding);
	LIST_INSERT_HEAD(&binder->open, binding, link);
	binder->pending++;
	body_binding(&body, pod, node, why);
	call.body = body.data;
	call.len = body.len;
	binding->request = kube_request_send(binder->client, &call);
}

size_t binder_pending(const struct binder *binder)
{
	return binder->pending;
}

void binder_close(struct binder *binder)
{
	if (binder == NULL) {
		return;
	}
	for (struct binding *b = LIST_FIRST(&binder->open), *next; b != NULL;
		b = next) {
		next = LIST_NEXT(b, link);
		binding_free(b);
	}
	free(binder);
}
