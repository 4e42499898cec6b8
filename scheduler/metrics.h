/* What the scheduler has done, for GET /metrics: kube-scheduler's names, labels
 * and bounds (1.36) where it has such a figure, our own beside them.
 *
 * A value that the placer keeps; docs/metrics.md lists the series. Times are
 * monotonic microseconds. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/bind/binder.h"
#include "scheduler/cache/cache.h"
#include "scheduler/score/decide.h"
#include "scheduler/extender.h"
#include "scheduler/histogram.h"
#include "scheduler/schedule.h"
#include "scheduler/cache/queue.h"
#include "scheduler/objects/rejection.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How an attempt to place a pod ended. */
enum attempt_result {
	ATTEMPT_SCHEDULED,
	ATTEMPT_UNSCHEDULABLE, /* no node fits */
	ATTEMPT_ERROR,	       /* a binding failed */
	ATTEMPT_RESULTS,
};

enum { METRICS_ATTEMPTS_MAX = 15 }; /* from here on one series */

/* Zeroed is the start. */
struct metrics {
	struct histogram attempts[ATTEMPT_RESULTS]; /* from decision to end */
	struct histogram algorithm;		    /* the decision alone */
	struct histogram sli[METRICS_ATTEMPTS_MAX]; /* by attempts less 1 */
	struct histogram pod_attempts;
	struct histogram load_age; /* of the chosen node's newest sample */
	uint64_t without_load;	   /* chosen without one */
	uint64_t bindings[BIND_OUTCOMES];
	uint64_t failed_finally, failed_for_now; /* attempts, by queue */
	uint64_t flushed; /* after 5 min without change */
	uint64_t rejections[REJECTIONS];
	uint64_t extended[EXTENDER_VERBS][EXTENDER_OUTCOMES];
};

/* The pod is about to be decided about. */
void metrics_begin(struct metrics *metrics, struct waiting *waiting,
	int64_t now_us);
/* It has been; now_us is the time after that. */
void metrics_decided(struct metrics *metrics, struct waiting *waiting,
	const struct decision *decision, int64_t now_us);
/* No node fits. */
void metrics_unschedulable(struct metrics *metrics,
	const struct waiting *waiting, int64_t now_us);
/* A binding is over; waiting is NULL if the pod is gone. */
void metrics_bound(struct metrics *metrics, const struct waiting *waiting,
	enum bind_outcome outcome, int64_t now_us);

/* A request of an extender was answered. */
void metrics_extended(struct metrics *metrics, enum extender_verb verb,
	enum extender_outcome outcome);

/* Appends all of it, and what is true at this moment. profile is that of
 * --scheduler-name. */
void metrics_write(struct buffer *out, const struct placer_view *now,
	const char *profile);
