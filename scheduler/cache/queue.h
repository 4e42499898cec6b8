/* The pods that wait for a node: who is next, and when.
 *
 * Order is priority, then the time of arrival. A pod that no node could take
 * waits 1, 2, 4, 8, 10, 10 ... seconds (kube-scheduler's back-off) and then for
 * something to change in the cluster, at most 5 minutes. Pure: the caller gives
 * the time, in monotonic microseconds. */
#pragma once

#include "lib/map.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define QUEUE_BACKOFF_US INT64_C(1000000)
#define QUEUE_BACKOFF_MAX_US INT64_C(10000000)
#define QUEUE_FLUSH_US INT64_C(300000000)

/* What became of the last attempt. */
enum waiting_state {
	WAITING_READY,	       /* as soon as its back-off is over */
	WAITING_UNSCHEDULABLE, /* no node fits: until something changes */
	WAITING_BINDING,       /* decided; not to be picked */
	WAITING_GATED,	       /* must not be bound: schedulingGates */
};

struct waiting {
	struct pod *pod; /* owned; NULL while it is bound: the cache has it */
	enum waiting_state state;  /* set by queue_set() alone */
	TAILQ_ENTRY(waiting) link; /* of its state's list */
	int64_t since_us;	   /* arrival */
	int64_t not_before_us;	   /* end of the back-off */
	int64_t attempt_us;	   /* the last one; for the flush */
	int64_t first_us;	   /* the first one */
	unsigned attempts;	   /* in all */
	unsigned failures;	   /* attempts in a row without a node */
	uint32_t plugins; /* bits of enum filter_plugin: why no node fits */
	char *message;	  /* owned; the last reason that was told, or NULL */
	int64_t told_us;  /* when it was told */
};

TAILQ_HEAD(waiting_list, waiting);

struct queue {
	struct map by_uid;		   /* of struct waiting */
	struct waiting_list ready;	   /* in their order */
	struct waiting_list unschedulable; /* by their last attempts */
	uint64_t added; /* pods that came and may be placed */
	uint64_t woken; /* pods that something changed for */
};

void queue_init(struct queue *queue);
void queue_fini(struct queue *queue);

/* Adds the pod, or replaces what is known of it (same uid): a changed pod is
 * ready again once its back-off is over. One that is gated waits until it is
 * not. Takes pod. */
void queue_put(struct queue *queue, struct pod *pod, int64_t now_us);

void queue_remove(struct queue *queue, const char *uid);
struct waiting *queue_find(const struct queue *queue, const char *uid);

/* The pod of a ready one is there. */
void queue_set(struct queue *queue, struct waiting *waiting,
	enum waiting_state state);

/* The next pods that may be tried now, in their order: at most max of them,
 * which should be few. Returns how many. They stay the queue's. */
size_t queue_next(struct queue *queue, struct waiting **out, size_t max,
	int64_t now_us);

/* When queue_next() may have one, as things are: INT64_MAX for never. */
int64_t queue_wake_us(const struct queue *queue);

/* No node fits (is_final: until something changes) or an error kept the pod
 * from its node: the back-off begins. */
void queue_failed(struct queue *queue, struct waiting *waiting, bool is_final,
	int64_t now_us);

/* Something changed that may help: all unschedulable pods are ready again
 * once their back-off is over. */
void queue_wake_all(struct queue *queue);

/* A pod came to a node or looks different there: the same for those that
 * depend on other pods. False if there was none. */
bool queue_wake_related(struct queue *queue);
