/* Moves of running VMs: the mover, and the module that makes room for pods.
 * Nothing of it runs with --rebalance off and --make-room off. */
#pragma once

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "proto/move.h"
#include "scheduler/answers/answers.h"
#include "scheduler/config.h"
#include "scheduler/make_room/make_room.h"
#include "scheduler/mover/mover.h"
#include "scheduler/mover/reach.h"
#include "scheduler/planner/planner.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct aggregators;
struct decision;
struct kubevirt;
struct moves;
struct queued_pod;

/* All outlive the moves. */
struct moves_options {
	uv_loop_t *loop;
	struct kube_client *client;
	const struct scheduler_config *config;
	struct cache *cache;
	struct reservations *reservations;
	struct queue *queue;
	struct aggregators *aggregators;
	struct events *events;
	bool (*is_synced)(void *owner);
	bool (*leads)(void *owner);
	/* The queue changed. */
	void (*wake)(void *owner);
	void *owner;
};

/* Never NULL. */
struct moves *moves_new(const struct moves_options *options);

/* See mover_note_load() and mover_remember(). */
void moves_note_load(struct moves *moves, const struct node_load *load,
	int64_t sample_us);
void moves_remember(struct moves *moves, const struct move_record *record);

/* See kubevirt_put_launcher(). */
void moves_put_launcher(struct moves *moves, const char *uid,
	const struct json_value *pod);
void moves_launcher_gone(struct moves *moves, const char *uid);

/* No node fits the pod, for the reason in message. Appends what would make room
 * for it. record gets the same sentences without the names of VMs and pods. */
void moves_unschedulable(struct moves *moves, const struct queued_pod *queued,
	const struct decision *decision, struct buffer *message,
	struct buffer *record);

/* The pod is being assumed on the node. */
void moves_placed(struct moves *moves, const struct pod *pod, const char *node);

/* For /metrics. */
struct moves_stats {
	bool has_moves; /* the others are valid */
	struct mover_stats mover;
	struct make_room_stats room; /* zeros with --make-room off */
	struct planner_stats planner;
	struct reach_stats reach;
};
void moves_stats(struct moves *moves, struct moves_stats *out);

/* Appends the JSON of GET /v1/rebalance. */
void moves_describe(struct moves *moves, struct buffer *out);

/* For questions of users; NULL: nothing watches KubeVirt. Borrowed. */
struct planner *moves_planner(const struct moves *moves);
const struct kubevirt *moves_kubevirt(const struct moves *moves);

/* Calls done exactly once, maybe before this returns: with the status and the
 * body of GET /v1/room. */
void moves_ask_room(struct moves *moves,
	void (*done)(void *owner, int status, const struct buffer *body),
	void *owner);
/* done is not called any more for those who asked, or for this owner. */
void moves_forget_rooms(struct moves *moves);
void moves_forget_room(struct moves *moves, const void *owner);
/* The same for questions of users. */
struct answers_room moves_room(struct moves *moves);

void moves_close(struct moves *moves); /* NULL is fine */
