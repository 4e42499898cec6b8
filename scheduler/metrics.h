/* The scheduler's metrics, for GET /metrics: those of kube-scheduler 1.36 under
 * its names, labels and bounds, and plimsoll's own. docs/metrics.md lists the
 * series. Times are monotonic microseconds. */
#pragma once

#include "lib/buffer.h"
#include "lib/exposition.h"
#include "lib/histogram.h"
#include "scheduler/bind/binder.h"
#include "scheduler/bind/events.h"
#include "scheduler/cache/cache.h"
#include "scheduler/cache/queue.h"
#include "scheduler/extender.h"
#include "scheduler/moves.h"
#include "scheduler/objects/rejection.h"
#include "scheduler/score/decide.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The result of an attempt to schedule a pod. */
enum attempt_result {
	ATTEMPT_SCHEDULED,
	ATTEMPT_UNSCHEDULABLE, /* no node fits */
	ATTEMPT_ERROR,	       /* a binding failed */
	ATTEMPT_RESULTS,
};

enum { METRICS_ATTEMPTS_MAX = 15 }; /* more share one series */

/* Zeroed is valid. */
struct metrics {
	struct histogram
		attempts[ATTEMPT_RESULTS]; /* from the decision to the end */
	struct histogram algorithm;	   /* the decision alone */
	struct histogram decision_cpu;	   /* its CPU time */
	uint64_t began_cpu_us;		   /* of the decision under way */
	struct histogram sli[METRICS_ATTEMPTS_MAX]; /* by attempts less 1 */
	struct histogram pod_attempts;
	struct histogram load_age; /* of the chosen node's newest sample */
	uint64_t without_load;	   /* decisions for a node without a sample */
	uint64_t bindings[BIND_OUTCOMES];
	uint64_t to_unschedulable, to_backoff; /* failed attempts, by queue */
	uint64_t flushed; /* tried again after 5 min without a change */
	uint64_t rejections[REJECTIONS];
	uint64_t extender_requests[EXTENDER_VERBS][EXTENDER_OUTCOMES];
};

/* Before the decision. cpu_us is the CPU time of the thread that decides. */
void metrics_begin(struct metrics *metrics, struct queued_pod *queued,
	int64_t now_us, uint64_t cpu_us);
/* After the decision. */
void metrics_decided(struct metrics *metrics, struct queued_pod *queued,
	const struct decision *decision, int64_t now_us, uint64_t cpu_us);
/* No node fits. */
void metrics_unschedulable(struct metrics *metrics,
	const struct queued_pod *queued, int64_t now_us);
/* A binding ended; queued is NULL if the pod was deleted. */
void metrics_bound(struct metrics *metrics, const struct queued_pod *queued,
	enum bind_outcome outcome, int64_t now_us);

/* The extender replied to a request. */
void metrics_extender_request(struct metrics *metrics, enum extender_verb verb,
	enum extender_outcome outcome);

/* The scheduler's state for HTTP clients. Borrowed until the event loop runs
 * again. */
struct scheduler_view {
	const struct cache *cache;
	const struct queue *queue;
	struct metrics *metrics;
	const char *lease;		    /* NULL: no leader election */
	uint64_t suppressed[EVENTS_LIMITS]; /* events */
	bool is_synced;			    /* the caches are synced */
	double cache_age_s;		    /* informers_age_s() */
	bool leads;
	size_t connected, aggregators;
	struct moves_stats moves;
	int64_t now_us;
	/* When the certificates expire, in seconds since 1970; 0: none. Those
	 * of the listeners are set by their server. */
	int64_t aggregator_expiry_s, http_expiry_s, webhook_expiry_s;
	int64_t authority_expiry_s; /* of the aggregators; 0: none */
	/* Set by the server: when it started, in microseconds since 1970, and
	 * what its listeners answered. */
	uint64_t started_us;
	struct exposition_responses responses[2];
};

/* Appends all series. profile: the value of --scheduler-name. */
void metrics_write(struct buffer *out, const struct scheduler_view *now,
	const char *profile);
