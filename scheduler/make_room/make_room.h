/* Making room: moves VMs out of the way of a pod that fits on no node.
 *
 * A pod of this scheduler that no node fits gets a plan: the fewest moves of
 * VMs of lower priority after which it fits. In recommend mode the plan is told
 * in the pod's FailedScheduling message, by an event and as records. In
 * automatic mode its moves are ordered one after the other, the place is held
 * for the pod (cache_put_nominated(), status.nominatedNodeName), and the pod is
 * bound when the place is free. After a failed move or a lost place, the pod
 * gets one more plan; --make-room-timeout limits all. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/mover/gate.h"
#include "scheduler/mover/mover.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct decision;
struct make_room;
struct planner;
struct queue;
struct queued_pod;

enum {
	MAKE_ROOM_ATTEMPTS_MAX = 16, /* pods at a time; further ones wait */
	MAKE_ROOM_REMEMBERED_MAX = 256,
	/* Plans that a pod has while its moves are under way. */
	MAKE_ROOM_PLANS = 2,
};

/* A pod for which room was not made rests this long. */
#define MAKE_ROOM_REST_US INT64_C(3600000000)

/* A recommendation is looked at again after this. */
#define MAKE_ROOM_AGAIN_US INT64_C(60000000)

/* All outlive it. */
struct make_room_options {
	uv_loop_t *loop;
	struct cache *cache;
	struct queue *queue;
	struct events *events;
	struct mover *mover; /* orders and records the moves */
	struct planner *planner;
	enum mover_mode mode; /* not MOVER_OFF */
	int64_t timeout_us;
	bool (*leads)(void *owner);
	/* The pod may fit now, or its message changed: try it again. */
	void (*wake)(void *owner, const char *pod_uid);
	/* Writes status.nominatedNodeName; "": none. */
	void (*nominate)(void *owner, const struct pod *pod, const char *node);
	void *owner;
};

/* Never NULL. */
struct make_room *make_room_new(const struct make_room_options *options);

/* No node fits the pod. Appends to the message what would make room for it, if
 * that is known, and to the record the same without names. */
void make_room_unschedulable(struct make_room *room,
	const struct queued_pod *queued, const struct decision *decision,
	struct buffer *message, struct buffer *record);

/* The pod is being assumed on the node: it counts there, and the place is held
 * no longer. */
void make_room_placed(struct make_room *room, const struct pod *pod,
	const char *node);

/* For /metrics. */
struct make_room_stats {
	size_t attempts; /* pods for which room is being made or recommended */
	uint64_t made, lost, given_up, without_plan;
	bool orders; /* the effective mode of --make-room is automatic */
};
void make_room_stats(const struct make_room *room, struct make_room_stats *out);

/* Writes the list "making" of GET /v1/room. */
struct json;
void make_room_describe(const struct make_room *room, struct json *j);

void make_room_close(struct make_room *room); /* NULL is fine */
