/* What a stock kube-scheduler asks of an extender (k8s.io/kube-scheduler,
 * extender/v1): which of these nodes will do, and how good is each?
 *
 * Answered from memory, by the filters and the score of the live scheduler, of
 * which only that counts which kube-scheduler cannot know: measured load. It
 * knows nodes by name alone (nodeCacheCapable). What is not known is no
 * opinion: the node passes, or all are equal. Pure. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "scheduler/cache/cache.h"
#include "scheduler/score/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a request: a pod can be 1.5 MiB, 5,000 names are 0.3 MiB. */
enum { EXTENDER_BODY_MAX = 2 << 20 };

/* Of an answer: at most six times the request, where each byte is escaped. */
enum { EXTENDER_ANSWER_MAX = 16 << 20 };

/* Points of score that one step of an extender's 0 to 10 stands for. Nodes
 * seldom differ by more than half the range, and kube-scheduler compares
 * nodes with each other only. */
#define EXTENDER_STEP 5.0

struct extender_view {
	const struct cache *cache;
	const struct policy *policy; /* NULL: real-load */
	bool is_synced;		     /* the cluster is known completely */
	int64_t now_us;
};

/* What an answer rests on. */
enum extender_outcome {
	EXTENDER_JUDGED,
	EXTENDER_NO_OPINION, /* of none of the nodes is anything known */
	EXTENDER_REFUSED,    /* with the error; the others without */
	EXTENDER_OUTCOMES,
};

enum extender_verb { EXTENDER_FILTER, EXTENDER_PRIORITIZE, EXTENDER_VERBS };

struct extender_request {
	enum extender_verb verb;
	const char *body; /* ExtenderArgs as JSON */
	size_t len;
};

/* Appends the answer: an ExtenderFilterResult, or a HostPriorityList. -EFBIG:
 * the body is too large; -EBADMSG, -E2BIG: it is not a request that can be
 * answered, and why. */
must_check int extender_answer(struct buffer *out,
	enum extender_outcome *outcome, const struct extender_view *view,
	const struct extender_request *request, struct error *err);
