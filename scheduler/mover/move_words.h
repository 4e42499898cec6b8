/* The figures and the sentence of a move. Pure. */
#pragma once

#include "proto/move.h"
#include "scheduler/rebalance/fleet.h"
#include "scheduler/rebalance/pressure.h"

#include <stddef.h>

/* Core-minutes in a core-step of 5 minutes, the unit of shortages. */
#define MOVE_WORDS_MINUTES 5.0

/* A record without figures that were not chosen: all are unknown. */
void move_words_init(struct move_record *out);

/* Names, figures and sentence; price: what the move costs, in core-steps. The
 * vm's pod and the nodes have names. */
void move_words_from(struct move_record *out, const struct fleet *fleet,
	const struct fleet_move *move, double price);

/* The same for a move away from a node that is short of memory or I/O, or
 * without KVM. */
void move_words_from_pressure(struct move_record *out,
	const struct fleet *fleet, const struct pressure_move *move,
	double price);

/* The same for a VM that may not stand on its source, for the reason in why,
 * from standing_text(). */
void move_words_for_placement(struct move_record *out,
	const struct fleet *fleet, const struct fleet_move *move, double price,
	const char *why);

/* A move that makes room; all borrowed. */
struct move_words_room {
	const struct pod *vm; /* its launcher pod */
	const char *source, *target;
	const struct pod *room_for; /* fits on node after the last move */
	const char *node;
	size_t number, count; /* this move, from 1, and all of the plan */
	/* Expected shares of the nodes' shared cores; NAN: unknown. */
	double source_load_before, source_load_after;
	double target_load_before, target_load_after;
	double memory_bytes; /* that the copy transfers; NAN: unknown */
};

/* A record of MOVE_FOR_ROOM without id. */
void move_words_for_room(struct move_record *out,
	const struct move_words_room *move);

/* The figures and the sentence become those of a later round; id, revision,
 * state and the time of the recommendation stay. */
void move_words_update(struct move_record *record,
	const struct move_record *figures);
