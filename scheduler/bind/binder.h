/* Binds pods to nodes.
 *
 * If the response to a POST is lost, the binding may or may not exist. The
 * binder then reads the pod to find out, so that capacity is never freed too
 * early and no pod is bound twice. If the API server does not show the pod, the
 * binder gives up: each binding takes one of few places. */
#pragma once

#include "scheduler/objects/pod.h"

#include <stddef.h>
#include <uv.h>

struct binder;
struct kube_client;

enum bind_outcome {
	BIND_DONE,    /* the pod is on the chosen node */
	BIND_REFUSED, /* the pod has no node; try again */
	BIND_GONE,    /* the pod was deleted, or another scheduler bound it;
	               * the informer delivers the rest */
	BIND_UNKNOWN, /* the API server does not show the pod; the informer
	               * delivers what became of it */
	BIND_OUTCOMES,
};

/* Reads of the pod, one a second: if the API server refuses to show it, and if
 * the API server is in trouble. A restart of the API server takes up to half a
 * minute. */
enum { BINDER_REFUSALS_MAX = 3, BINDER_READS_MAX = 60 };

struct bind_result {
	const char *uid;
	const char *node;
	const char *why; /* the sentence given to binder_bind() */
	enum bind_outcome outcome;
	const char *error; /* "" with BIND_DONE */
};

/* Everything in result is borrowed for the call. */
typedef void (*bind_done)(void *owner, const struct bind_result *result);

/* owner outlives the binder. Never NULL. */
struct binder *binder_new(struct kube_client *client, uv_loop_t *loop,
	bind_done done, void *owner);

/* Starts binding. Calls done exactly once, unless the binder is closed. pod is
 * borrowed for the call; why becomes the pod's annotation
 * plimsoll.io/decision. */
void binder_bind(struct binder *binder, const struct pod *pod, const char *node,
	const char *why);

/* Returns the number of bindings in flight. */
size_t binder_pending(const struct binder *binder);

/* Cancels the bindings in flight. To be called before the client is closed.
 * NULL is fine. */
void binder_close(struct binder *binder);
