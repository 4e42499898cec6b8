/* Reports the state of pods to users: events, and the PodScheduled=False
 * condition that KubeVirt shows as the VM's state.
 *
 * Best effort and bounded: a request that the API server refuses is logged and
 * not repeated. The same failure of a pod is reported again only after
 * EVENTS_REPEAT_US. */
#pragma once

#include "scheduler/cache/queue.h"

#include <stdbool.h>
#include <stdint.h>

#define EVENTS_REPEAT_US INT64_C(300000000)

struct events;
struct kube_client;

/* name: the scheduler's, as events show it; outlives the events. */
struct events *events_new(struct kube_client *client, const char *name);

/* Logs the binding and creates the event Scheduled: "Successfully assigned
 * NS/NAME to NODE: why". */
void events_scheduled(struct events *events, const struct pod *pod,
	const char *node, const char *why);

/* No node fits: logs it, creates the event FailedScheduling and sets the
 * condition with reason Unschedulable. False: too many requests are in flight,
 * and nothing was reported; call again soon. */
bool events_unschedulable(struct events *events, struct queued_pod *queued,
	const char *message, int64_t now_us);

/* The same for an error of the scheduler or the API server, with reason
 * SchedulerError. */
void events_error(struct events *events, struct queued_pod *queued,
	const char *message, int64_t now_us);

/* Cancels the requests in flight. To be called before the client is closed.
 * NULL is fine. */
void events_close(struct events *events);
