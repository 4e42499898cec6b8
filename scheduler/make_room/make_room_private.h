/* Shared by the modules of make_room.h: the state, and one look at one
 * attempt. */
#pragma once

#include "scheduler/make_room/attempt.h"
#include "scheduler/make_room/attempt_moves.h"
#include "scheduler/make_room/given_up.h"
#include "scheduler/make_room/make_room.h"

#include <stdbool.h>
#include <stdint.h>

struct make_room {
	struct make_room_options options;
	struct move_actions *actions;
	struct attempts attempts;
	struct given_up given_up;
	struct timer *tick;
	bool leads;	/* as of the last tick */
	int64_t led_us; /* since then */
	/* As of the last tick: moves are ordered, and KubeVirt is watched; ""
	 * or why it is not. */
	bool is_automatic;
	bool has_history; /* the records of earlier leaders are there */
	char not_watching[ATTEMPT_WHY_MAX];
	uint64_t made, lost, given_up_count, without_plan;
};

struct attempt_context make_room_context(const struct make_room *room,
	struct moment now);

struct events_pod;

/* ---- make_room_ends.c: what people are told, and the ends ---- */

/* Logs the event and creates it on the pod. */
void make_room_tell(struct make_room *room, const struct pod *pod,
	const struct events_pod *event, struct moment now);

/* The pod is tried again soon. */
void make_room_wake(struct make_room *room, struct attempt *attempt,
	int64_t now_us);

/* The place is held no longer: others may take what the pod does not get. */
void make_room_release(struct make_room *room, struct attempt *attempt);

/* Brings status.nominatedNodeName level with what is held, again if it was
 * lost. A name that somebody else wrote stays while nothing is held. */
void make_room_nominate(struct make_room *room, struct attempt *attempt,
	const struct pod *pod, struct moment now);

/* The attempt leaves the list and is freed; the place is no longer held. */
void make_room_drop(struct make_room *room, struct attempt *attempt);

/* The next four set attempt->is_over: who called them first drops it. */

/* The pod is placed, or gone. Ordered moves go on. */
void make_room_end(struct make_room *room, struct attempt *attempt,
	const char *why, struct moment now);

/* No more room is made for the pod for MAKE_ROOM_REST_US. */
void make_room_give_up(struct make_room *room, struct attempt *attempt,
	const struct pod *pod, const char *why, struct moment now);

/* The plan does not lead to its end. Another one may; the last one that may be
 * is given up. */
void make_room_lose_plan(struct make_room *room, struct attempt *attempt,
	const struct pod *pod, const char *why, struct moment now);

/* The same: another pod took the held place. */
void make_room_lose_place(struct make_room *room, struct attempt *attempt,
	const struct pod *pod, const struct pod *newcomer, struct moment now);

/* ---- make_room_search.c ---- */

/* Begins a search if one is due and none is under way. */
void make_room_search(struct make_room *room, struct attempt *attempt,
	struct pod *pod, struct moment now);

/* ---- make_room_follow.c ---- */

/* The next step of an attempt. May end and free it. */
void make_room_follow(struct make_room *room, struct attempt *attempt,
	struct moment now);
