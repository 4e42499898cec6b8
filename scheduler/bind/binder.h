/* Binds pods to nodes and finds out what became of it.
 *
 * A POST whose answer was lost may have been done: the pod is read until the
 * API server says one way or the other, so capacity is never freed blindly and
 * no pod is bound twice. */
#pragma once

#include "scheduler/objects/pod.h"

#include <stddef.h>
#include <uv.h>

struct binder;
struct kube_client;

enum bind_outcome {
	BIND_DONE,    /* the pod is on the node we chose */
	BIND_REFUSED, /* it is not, and may be tried again */
	BIND_GONE,    /* there is no such pod any more, or another scheduler
	               * was quicker; the watch tells the rest */
	BIND_OUTCOMES,
};

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

/* Starts binding; done follows exactly once unless the binder is closed. pod
 * is only read during the call; why becomes part of the pod's annotation
 * plimsoll.io/decision. */
void binder_bind(struct binder *binder, const struct pod *pod, const char *node,
	const char *why);

/* How many are under way. */
size_t binder_pending(const struct binder *binder);

/* Drops what is under way. Before its client is closed. NULL is fine. */
void binder_close(struct binder *binder);
