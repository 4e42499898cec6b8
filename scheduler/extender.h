/* An extender of a stock kube-scheduler (k8s.io/kube-scheduler, extender/v1):
 * filters and prioritizes nodes.
 *
 * Uses the cache, and of the scheduler's filters and scores only what
 * kube-scheduler cannot know: measured load. Requests name nodes
 * (nodeCacheCapable). Without data there is no opinion: an unknown node passes
 * the filter, and if no node is known all have the same score. Pure. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "scheduler/cache/cache.h"
#include "scheduler/score/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limit of a request, which the caller holds: a pod can be 1.5 MiB, 5,000 names
 * are 0.3 MiB. */
enum { EXTENDER_BODY_MAX = 2 << 20 };

/* Limit of a response: at most six times the request, if each byte is
 * escaped. */
enum { EXTENDER_ANSWER_MAX = 16 << 20 };

/* Score points per step of an extender's 0 to 10. Nodes seldom differ by more
 * than half the range, and kube-scheduler only compares nodes with each
 * other. */
#define EXTENDER_STEP 5.0

struct extender_view {
	const struct cache *cache;
	const struct policy *policy; /* NULL: real-load */
	bool is_synced;		     /* the caches are synced */
	int64_t now_us;
};

enum extender_outcome {
	EXTENDER_JUDGED,
	EXTENDER_NO_OPINION, /* no node has a load */
	EXTENDER_REFUSED,    /* with an error */
	EXTENDER_OUTCOMES,
};

enum extender_verb { EXTENDER_FILTER, EXTENDER_PRIORITIZE, EXTENDER_VERBS };

struct extender_request {
	enum extender_verb verb;
	const char *body; /* ExtenderArgs as JSON */
	size_t len;
};

/* Appends the response: an ExtenderFilterResult or a HostPriorityList.
 * -EBADMSG, -E2BIG: the request is invalid. */
must_check int extender_answer(struct buffer *out,
	enum extender_outcome *outcome, const struct extender_view *view,
	const struct extender_request *request, struct error *err);
