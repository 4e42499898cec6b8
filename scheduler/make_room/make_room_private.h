/* Shared by the modules of make_room.h: the state, and one look at one
 * effort. */
#pragma once

#include "scheduler/make_room/effort.h"
#include "scheduler/make_room/effort_moves.h"
#include "scheduler/make_room/given_up.h"
#include "scheduler/make_room/make_room.h"

#include <stdbool.h>
#include <stdint.h>

struct make_room {
	struct make_room_options options;
	struct mover_parts parts;
	struct efforts efforts;
	struct given_up given_up;
	struct timer *tick;
	bool leads;	/* as of the last tick */
	int64_t led_us; /* since then */
	/* As of the last tick: moves are ordered, and KubeVirt is watched; ""
	 * or why it is not. */
	bool is_automatic;
	char not_watching[EFFORT_WHY_MAX];
	uint64_t made, lost, given_up_count, without_plan;
};

struct effort_context make_room_context(const struct make_room *room,
	struct moment now);

/* The effort leaves the list and is freed; the place is no longer held. */
void make_room_drop(struct make_room *room, struct effort *effort);

/* The next step of an effort. May end it. */
void make_room_follow(struct make_room *room, struct effort *effort,
	struct moment now);
