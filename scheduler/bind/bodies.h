/* Builds the JSON bodies of requests to the API server. Pure. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/cluster/storage_objects.h"
#include "scheduler/objects/pod.h"

#include <stdint.h>

/* events.k8s.io/v1 refuses longer notes. */
enum { BODY_NOTE_MAX = 1024 };

/* Body of POST pods/NAME/binding. The uid is a precondition; the annotation
 * plimsoll.io/decision reaches the pod atomically with the node's name. */
void body_binding(struct buffer *out, const struct pod *pod, const char *node,
	const char *decision);

/* Strategic merge patch of pods/NAME/status: PodScheduled=False. reason is
 * Unschedulable (no node fits; KubeVirt shows it) or SchedulerError. */
void body_condition(struct buffer *out, const struct pod *pod,
	const char *reason, const char *message, uint64_t wall_us);

/* Merge patch of pods/NAME/status: status.nominatedNodeName; node "" removes
 * it. The uid is a precondition. */
void body_nomination(struct buffer *out, const struct pod *pod,
	const char *node);

/* Merge patch of a PersistentVolume: sets its claimRef. The API server refuses
 * this patch and the next if the object has changed since it was read. */
void body_volume_claim(struct buffer *out, const struct volume *volume,
	const struct claim *claim);

/* Merge patch of a PersistentVolumeClaim: the node to provision its volume
 * for. */
void body_selected_node(struct buffer *out, const struct claim *claim,
	const char *node);

struct body_event {
	const struct pod *pod;
	const char *controller; /* the scheduler's name */
	const char *instance;	/* at most 128 bytes are used */
	const char *action;	/* such as "Binding" */
	const char *reason;	/* such as "Scheduled" */
	bool is_warning;
	const char *note; /* cut to BODY_NOTE_MAX */
	uint64_t wall_us;
};

/* Body of POST /apis/events.k8s.io/v1/namespaces/NS/events. */
void body_event(struct buffer *out, const struct body_event *event);

/* The same about a VirtualMachineInstance. */
struct body_vmi_event {
	const char *namespace, *name, *uid;
	const char *controller, *instance; /* as above */
	const char *action;		   /* such as "Moving" */
	const char *reason, *note;
	bool is_warning;
	uint64_t wall_us;
};
void body_vmi_event(struct buffer *out, const struct body_vmi_event *event);
