#include "scheduler/binding_cycle.h"

#include "kube/client.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "scheduler/bind/binder.h"
#include "scheduler/bind/prebind.h"
#include "scheduler/cache/reservations.h"

#include <stdlib.h>
#include <string.h>

#define LOG_AGAIN_US UINT64_C(10000000)

enum {
	BINDINGS_MAX = 64,   /* in flight; each holds some 20 KiB */
	PREBINDS_MAX = 1024, /* pods that wait for their volumes */
};

/* A binding of unknown outcome. */
struct held {
	char *node;    /* owned; where the pod is assumed */
	char *message; /* owned; why the outcome is unknown */
	int64_t until_us;
};

struct binding_cycle {
	struct binding_cycle_options options;
	struct binder *binder;
	struct prebind *prebind;
	struct map held; /* uid of a pod -> struct held */
	struct log_limit limit;
};

static int64_t now_us(void)
{
	return (int64_t)clock_monotonic_us();
}

static bool is_leading(const struct binding_cycle *cycle)
{
	return leader_leads(cycle->options.leader, clock_monotonic_us());
}

/* Removes the pod from its node, where its VM's reservation counts again, and
 * returns its entry of the queue; NULL if the pod is no longer queued. */
static struct queued_pod *unassume(struct binding_cycle *cycle, const char *uid)
{
	struct queued_pod *queued = queue_find(cycle->options.queue, uid);
	struct pod *pod = cache_forget(cycle->options.cache, uid);

	if (pod == NULL) {
		/* The informer has seen the pod bound after all, or deleted,
		 * and has taken it from the queue as well. */
		return NULL;
	}
	reservations_resume(cycle->options.reservations, pod);
	if (queued == NULL || queued->pod != NULL) {
		pod_free(pod); /* deleted, or a newer version arrived */
	} else {
		queued->pod = pod;
	}
	return queued;
}

/* message: why the pod is not on a node. */
static void requeue(struct binding_cycle *cycle, const char *uid,
	const char *message)
{
	struct queued_pod *queued = unassume(cycle, uid);

	if (queued != NULL) {
		events_error(cycle->options.events, queued, message, now_us());
		queue_failed(cycle->options.queue, queued, false, now_us());
	}
	queue_wake_all(cycle->options.queue);
}

/* The pod does not exist any more, or another scheduler bound it. */
static void forget(struct binding_cycle *cycle, const char *uid)
{
	const struct binding_cycle_options *o = &cycle->options;
	struct pod *pod = cache_forget(o->cache, uid);

	if (pod != NULL) {
		reservations_settle(o->reservations, pod);
		pod_free(pod);
	}
	queue_remove(o->queue, uid);
	queue_wake_all(o->queue);
}

static void held_free(struct held *held)
{
	if (held != NULL) {
		free(held->node);
		free(held->message);
		free(held);
	}
}

/* The pod stays assumed, and its entry of the queue stays as it is. */
static void hold(struct binding_cycle *cycle, const struct bind_result *result)
{
	struct held *held = xcalloc(1, sizeof(*held));

	*held = (struct held){
		.node = xstrdup(result->node),
		.message = xasprintf(
			"it is unknown whether the pod is bound to %s: %s",
			result->node, result->error),
		.until_us = now_us() + BINDING_HOLD_US,
	};
	held_free(map_put(&cycle->held, result->uid, held));
	if (log_allow(&cycle->limit, clock_monotonic_us(), LOG_AGAIN_US,
		    NULL)) {
		log_warning(
			"cannot read a pod after its binding; the watch "
			"decides what became of it",
			log_str("uid", result->uid),
			log_str("node", result->node),
			log_str("err", result->error), LOG_END);
	}
}

/* The watch has shown the pod on a node, or its deletion. */
static void settle(struct binding_cycle *cycle, const char *uid,
	const struct held *held)
{
	const struct binding_cycle_options *o = &cycle->options;
	const struct pod *bound = cache_pod(o->cache, uid);

	if (bound != NULL && strcmp(bound->node_name, held->node) == 0) {
		events_scheduled(o->events, bound, held->node, "", now_us());
	}
	queue_remove(o->queue, uid);
}

/* False while the pod is still held. */
static bool check_held(struct binding_cycle *cycle, const char *uid,
	struct held *held)
{
	const struct binding_cycle_options *o = &cycle->options;

	if (!cache_is_assumed(o->cache, uid)) {
		settle(cycle, uid, held);
		return true;
	}
	if (!o->is_watching(o->owner)) {
		held->until_us = now_us() + BINDING_HOLD_US;
	}
	if (now_us() < held->until_us) {
		return false;
	}
	requeue(cycle, uid, held->message);
	return true;
}

static void poll_held(struct binding_cycle *cycle)
{
	size_t at = 0;
	const char *uid;
	void *held;

	while (map_next(&cycle->held, &at, &uid, &held)) {
		if (check_held(cycle, uid, held)) {
			held_free(map_remove(&cycle->held, uid));
		}
	}
}

static void on_bound(void *owner, const struct bind_result *result)
{
	struct binding_cycle *cycle = owner;
	const struct binding_cycle_options *o = &cycle->options;
	scoped_free char *message = NULL;
	const struct pod *bound;

	metrics_bound(o->metrics, queue_find(o->queue, result->uid),
		result->outcome, now_us());
	switch (result->outcome) {
	case BIND_DONE:
		bound = cache_pod(o->cache, result->uid);
		if (bound != NULL) {
			events_scheduled(o->events, bound, result->node,
				result->why, now_us());
		}
		queue_remove(o->queue, result->uid);
		break;
	case BIND_REFUSED:
		message = xasprintf("binding to %s was refused: %s",
			result->node, result->error);
		requeue(cycle, result->uid, message);
		break;
	case BIND_GONE:
		forget(cycle, result->uid);
		break;
	case BIND_UNKNOWN:
		hold(cycle, result);
		break;
	case BIND_OUTCOMES:
		break;
	}
	/* This binding still counts during the callback. */
	o->on_end(o->owner, binder_pending(cycle->binder) - 1);
}

static bool is_wanted(void *owner, const char *uid)
{
	const struct binding_cycle *cycle = owner;

	return cache_is_assumed(cycle->options.cache, uid) && is_leading(cycle);
}

static void on_volumes_bound(void *owner, const struct prebind_result *result)
{
	struct binding_cycle *cycle = owner;
	const struct binding_cycle_options *o = &cycle->options;
	scoped_free char *message = NULL;
	struct queued_pod *queued;

	if (!cache_is_assumed(o->cache, result->uid)) {
		return; /* the pod was deleted, or bound by another scheduler */
	}
	if (!is_leading(cycle)) {
		/* Another replica binds the pod, or this one leads again. */
		queued = unassume(cycle, result->uid);
		if (queued != NULL) {
			queue_set(o->queue, queued, QUEUED_READY);
		}
	} else if (*result->error == '\0') {
		binder_bind(cycle->binder, cache_pod(o->cache, result->uid),
			result->node, result->why);
	} else {
		/* kube-scheduler's words. */
		message = xasprintf(
			"running PreBind plugin \"VolumeBinding\": "
			"binding volumes: %s",
			result->error);
		metrics_bound(o->metrics, queue_find(o->queue, result->uid),
			BIND_REFUSED, now_us());
		requeue(cycle, result->uid, message);
		o->on_end(o->owner, binder_pending(cycle->binder));
	}
}

void binding_cycle_start(struct binding_cycle *cycle, struct queued_pod *queued,
	const char *node, const char *why, struct volume_plan *plan,
	int64_t now_us)
{
	if (plan->count > 0) {
		prebind_start(cycle->prebind, queued->pod, node, why, plan,
			now_us);
	} else {
		binder_bind(cycle->binder, queued->pod, node, why);
	}
	queue_set(cycle->options.queue, queued, QUEUED_BINDING);
	cache_assume(cycle->options.cache, take_ptr(queued->pod), node, now_us);
}

bool binding_cycle_has_capacity(const struct binding_cycle *cycle)
{
	return binder_pending(cycle->binder) < BINDINGS_MAX &&
		prebind_pending(cycle->prebind) < PREBINDS_MAX;
}

void binding_cycle_poll(struct binding_cycle *cycle)
{
	prebind_poll(cycle->prebind, now_us());
	poll_held(cycle);
}

size_t binding_cycle_drain(struct binding_cycle *cycle)
{
	prebind_drop(cycle->prebind);
	return binder_pending(cycle->binder);
}

struct binding_cycle *binding_cycle_new(
	const struct binding_cycle_options *options)
{
	struct binding_cycle *cycle = xcalloc(1, sizeof(*cycle));

	cycle->options = *options;
	cycle->binder =
		binder_new(options->client, options->loop, on_bound, cycle);
	cycle->prebind = prebind_new(options->client, options->loop,
		&options->cache->cluster,
		&(struct prebind_handler){ on_volumes_bound, is_wanted,
			cycle });
	return cycle;
}

void binding_cycle_close(struct binding_cycle *cycle)
{
	size_t at = 0;
	void *held;

	if (cycle == NULL) {
		return;
	}
	binder_close(cycle->binder);
	prebind_close(cycle->prebind);
	while (map_next(&cycle->held, &at, NULL, &held)) {
		held_free(held);
	}
	map_fini(&cycle->held);
	free(cycle);
}
