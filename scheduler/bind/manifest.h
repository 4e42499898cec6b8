/* What the scheduler says to the API server, as JSON texts. Pure. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/objects/pod.h"
#include "scheduler/cluster/storage_objects.h"

#include <stdint.h>

/* Notes longer than this are refused by events.k8s.io/v1. */
enum { API_NOTE_MAX = 1024 };

/* Body of POST pods/NAME/binding. The uid is a precondition; the annotation
 * plimsoll.io/decision reaches the pod atomically with the node's name. */
void api_binding(struct buffer *out, const struct pod *pod, const char *node,
	const char *decision);

/* Strategic merge patch of pods/NAME/status: PodScheduled=False. reason is
 * Unschedulable (no node fits; KubeVirt shows it) or SchedulerError. */
void api_condition(struct buffer *out, const struct pod *pod,
	const char *reason, const char *message, uint64_t wall_us);

/* Merge patch of a PersistentVolume: it is for this claim. As both, refused if
 * the object has changed since we saw it. */
void api_volume_claim(struct buffer *out, const struct volume *volume,
	const struct claim *claim);

/* Merge patch of a PersistentVolumeClaim: provision it for this node. */
void api_selected_node(struct buffer *out, const struct claim *claim,
	const char *node);

struct api_event {
	const struct pod *pod;
	const char *reporter; /* the scheduler's name */
	const char *instance; /* at most 128 bytes are used */
	bool is_scheduled;    /* Scheduled; else FailedScheduling */
	const char *note;     /* cut to API_NOTE_MAX */
	uint64_t wall_us;
};

/* Body of POST /apis/events.k8s.io/v1/namespaces/NS/events. */
void api_event(struct buffer *out, const struct api_event *event);
