/* Reports the state of pods to users: events, the PodScheduled=False condition
 * that KubeVirt shows as the VM's state, and the node that a pod waits for.
 *
 * Best effort and bounded: a request that the API server refuses is logged and
 * not repeated. The condition changes with each new failure of a pod, and is
 * repeated after EVENTS_REPEAT_US. A pod has one event of a reason (enum
 * queued_reason) in that time, because etcd keeps every event for an hour: the
 * message changes with each node, the reasons seldom. All pods together have
 * EVENTS_PER_S. A pod whose event did not go out for the second limit has it at
 * a later attempt.
 *
 * The VMI of a launcher pod has the same events as the pod, while there is room
 * to spare: users look at their VMs. Each is an event of its own for the second
 * limit. */
#pragma once

#include "scheduler/cache/queue.h"

#include <stdbool.h>
#include <stdint.h>

#define EVENTS_REPEAT_US INT64_C(300000000)

/* A fifth of what etcd writes with ease; the burst is ten seconds of it, so
 * that some hundred VMs that start at once have their events. */
enum { EVENTS_PER_S = 30, EVENTS_BURST = 300 };

/* Requests in flight: the burst, and room for conditions. */
enum { EVENTS_PENDING = 384 };

/* The limit for which an event was not sent. */
enum events_limit {
	EVENTS_OF_POD,	  /* of this pod and reason */
	EVENTS_OF_ALL,	  /* of all pods */
	EVENTS_OF_VMI,	  /* only pods' events, while there are many */
	EVENTS_IN_FLIGHT, /* of requests; conditions, too */
	EVENTS_LIMITS,
};

struct events;
struct kube_client;

/* name: the scheduler's, as events show it; outlives the events. */
struct events *events_new(struct kube_client *client, const char *name);

/* Logs the binding and creates the events Scheduled: "Successfully assigned
 * NS/NAME to WHY". why: decision_sentence(), which begins with the node; "":
 * only the node. */
void events_scheduled(struct events *events, const struct pod *pod,
	const char *node, const char *why, int64_t now_us);

/* No node fits: logs it, creates the event FailedScheduling and sets the
 * condition with reason Unschedulable. False: too many requests are in flight,
 * and nothing was reported; call again soon. */
bool events_unschedulable(struct events *events, struct queued_pod *queued,
	const char *message, int64_t now_us);

/* The same for an error of the scheduler or the API server, with reason
 * SchedulerError. */
void events_error(struct events *events, struct queued_pod *queued,
	const char *message, int64_t now_us);

/* Creates an event about a pod, and about the VMI of a launcher pod. */
struct events_pod {
	const char *action, *reason, *note;
	bool is_warning;
};
void events_about_pod(struct events *events, const struct pod *pod,
	const struct events_pod *event, int64_t now_us);

/* Tells the users of a new VM that its pod (a Pod object) stays with the
 * scheduler that it names, why: "pod has resource claims, which ...". */
void events_left_alone(struct events *events, struct interner *interner,
	const struct json_value *object, const char *why, int64_t now_us);

/* Creates an event about a VMI, within the limit of all events: action such as
 * "Moving" (NULL: this one), reason such as "MoveOrdered". */
struct events_vmi {
	const char *namespace, *name, *uid;
	const char *action, *reason, *note;
	bool is_warning;
};
void events_about_vmi(struct events *events, const struct events_vmi *event,
	int64_t now_us);

/* Writes status.nominatedNodeName of a pod; node "" removes it. Other
 * schedulers and the cluster autoscaler read there that a place on the node is
 * held for the pod. */
void events_nominate(struct events *events, const struct pod *pod,
	const char *node);

/* Returns the number of events that were not sent for this limit. */
uint64_t events_suppressed(const struct events *events,
	enum events_limit limit);

/* Cancels the requests in flight. To be called before the client is closed.
 * NULL is fine. */
void events_close(struct events *events);
