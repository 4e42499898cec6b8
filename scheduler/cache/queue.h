/* The queue of pending pods: which pod is next, and when.
 *
 * The targets of moves that plimsoll ordered go first, whatever their priority:
 * each holds one of KubeVirt's few slots for migrations, bound or not, and
 * drains wait for these. The other order is priority, then the targets of
 * migrations, then arrival. A pod that fits no node waits 1, 2, 4,
 * 8, 10, 10 ... seconds (kube-scheduler's back-off) and then until the cluster
 * changes, at most 5 minutes.
 *
 * The pods of a namespace that is over its share of the loop's time
 * (cache/time_shares.h) are tried when no pod of another namespace may be,
 * whatever their priority. Pure: the caller gives the time, in monotonic
 * microseconds. */
#pragma once

#include "lib/map.h"
#include "scheduler/cache/time_shares.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define QUEUE_BACKOFF_US INT64_C(1000000)
#define QUEUE_BACKOFF_MAX_US INT64_C(10000000)
#define QUEUE_FLUSH_US INT64_C(300000000)

/* The pods that may go before others of higher priority at a time: as many as
 * KubeVirt migrates at once by default. The others wait like all targets, and a
 * pod that fits no node makes room for another. */
enum { QUEUE_MOVES_MAX = 5 };

enum queued_state {
	QUEUED_READY,	      /* once its back-off is over */
	QUEUED_UNSCHEDULABLE, /* fits no node: waits for a change */
	QUEUED_BINDING,	      /* decided: not returned */
	QUEUED_GATED,	      /* has schedulingGates */
};

/* The reasons that events distinguish: each plugin that rejected the pod on
 * some node, by its bit, and these. */
enum queued_reason {
	QUEUED_NO_NODE = 30, /* no plugin rejected it: there are no nodes */
	QUEUED_ERROR,	     /* of the scheduler or the API server */
	QUEUED_REASONS,
};

struct queued_pod {
	struct pod *pod; /* owned; NULL while it is bound: the cache has it */
	enum queued_state state;      /* set by queue_set() alone */
	TAILQ_ENTRY(queued_pod) link; /* of its state's list */
	bool is_move;		      /* goes first */
	int64_t since_us;	      /* arrival */
	int64_t not_before_us;	      /* end of the back-off */
	int64_t attempt_us;	      /* of the last one */
	int64_t first_us;	      /* of the first one */
	unsigned attempts;	      /* total */
	unsigned failures;	      /* consecutive */
	uint32_t plugins; /* bits of enum filter_plugin: why no node fits */
	char *message; /* owned; last reason reported by events; NULL: none */
	int64_t reported_us; /* when it was reported */
	/* No event of the reason alone goes out before; 0: none went out. */
	int64_t event_allowed_us[QUEUED_REASONS];
	bool owes_event; /* the limit for all pods held it back */
};

TAILQ_HEAD(queued_list, queued_pod);

struct queue {
	struct map by_uid;		  /* of struct queued_pod */
	struct queued_list ready;	  /* in order */
	struct queued_list unschedulable; /* by last attempt */
	struct time_shares shares;
	size_t moves;	/* pods that go first */
	uint64_t added; /* pods that became schedulable */
	uint64_t woken; /* pods woken by a change */
};

void queue_init(struct queue *queue);
void queue_fini(struct queue *queue);

/* Adds or updates the pod (same uid). A pod whose spec changed is ready again
 * once its back-off is over. A gated pod waits until its gates are removed.
 * Takes pod. */
void queue_put(struct queue *queue, struct pod *pod, int64_t now_us);

void queue_remove(struct queue *queue, const char *uid);
struct queued_pod *queue_find(const struct queue *queue, const char *uid);

/* queued->pod must not be NULL for QUEUED_READY. */
void queue_set(struct queue *queue, struct queued_pod *queued,
	enum queued_state state);

/* Fills out with at most max pods that may be tried now, in order. Returns the
 * number. The queue owns them. */
size_t queue_next(struct queue *queue, struct queued_pod **out, size_t max,
	int64_t now_us);

/* A decision about the pod took so long, whatever came of it. */
void queue_spent(struct queue *queue, const struct queued_pod *queued,
	int64_t spent_us, int64_t now_us);

/* When queue_next() may return a pod if nothing changes; INT64_MAX: never. */
int64_t queue_wake_us(const struct queue *queue);

/* Starts the back-off: no node fits (is_unschedulable: the pod then
 * waits for a change), or an error occurred. */
void queue_failed(struct queue *queue, struct queued_pod *queued,
	bool is_unschedulable, int64_t now_us);

/* The pod may be tried at once, without a change and whatever its back-off. No
 * effect on a pod that is being bound or gated, or is not there. */
void queue_hurry(struct queue *queue, const char *uid);

/* The cluster changed: all unschedulable pods are ready once their back-off is
 * over. */
void queue_wake_all(struct queue *queue);

/* A pod on a node was added, or its labels changed: the same for pods that
 * depend on other pods. False: there are none. */
bool queue_wake_related(struct queue *queue);
