/* Tells users what became of their pod: events, and the PodScheduled=False
 * condition that KubeVirt shows as the VM's state.
 *
 * Best effort and bounded: what the API server does not take is logged, and a
 * pod that still has no node is told again at its next attempt. */
#pragma once

#include "scheduler/objects/pod.h"

#include <stdbool.h>

struct reporter;
struct kube_client;

/* name: the scheduler's, as events show it; outlives the reporter. */
struct reporter *reporter_new(struct kube_client *client, const char *name);

/* The event Scheduled: "Successfully assigned NS/NAME to NODE: why". */
void reporter_scheduled(struct reporter *reporter, const struct pod *pod,
	const char *node, const char *why);

/* The event FailedScheduling, and the condition with reason Unschedulable.
 * False: too many are under way, nobody was told. */
bool reporter_unschedulable(struct reporter *reporter, const struct pod *pod,
	const char *message);

/* The same for an error of ours or the API server's: SchedulerError. */
void reporter_error(struct reporter *reporter, const struct pod *pod,
	const char *message);

/* Drops what is under way. Before its client is closed. NULL is fine. */
void reporter_close(struct reporter *reporter);
