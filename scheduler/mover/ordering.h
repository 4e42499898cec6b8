/* A move that holds becomes an order if everything allows it, else a
 * recommendation.
 *
 * A move that makes room (MOVE_FOR_ROOM) needs no rounds: its proposal has a
 * record from move_words_for_room() and pod_uid, and its record's id is "" or
 * that of its recommendation. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/mover/duels.h"
#include "scheduler/mover/flights.h"
#include "scheduler/mover/gate.h"
#include "scheduler/mover/mover.h"
#include "scheduler/mover/proposals.h"

#include <stdbool.h>
#include <stddef.h>

/* All borrowed. */
struct ordering {
	const struct mover_options *options;
	struct kubevirt *kubevirt;
	struct journal *journal;
	struct flights *flights;
	const struct duels *duels;
	bool has_history; /* the waits of earlier leaders are restored */
	size_t vms;	  /* that run in the cluster */
};

/* The texts of a gate. */
struct gate_texts {
	struct buffer not_watching, not_ordering;
};

/* Whether moves for this purpose may be ordered now. texts holds the gate's
 * sentences, until ordering_gate_fini(). */
void ordering_gate(const struct ordering *ordering, enum gate_purpose purpose,
	struct gate *gate, struct gate_texts *texts, struct moment now);
void ordering_gate_fini(struct gate_texts *texts);

/* Orders the move; the proposal's record is the book's from now on. False:
 * appends one sentence why not. The target's filters are the caller's to
 * check, just before. */
bool ordering_try(struct ordering *ordering, struct proposal *proposal,
	struct buffer *why, struct moment now);

/* Records the move as recommended, once. The proposal gets the record's id and
 * state. */
void ordering_recommend(struct ordering *ordering, struct proposal *proposal,
	struct moment now);

/* The recommendation of this id no longer holds. No effect if there is none, or
 * if the move was ordered. */
void ordering_withdraw_one(struct ordering *ordering, const char *id,
	struct moment now);

/* The records of moves that no longer hold become withdrawn. */
void ordering_withdraw(struct ordering *ordering, struct proposals *proposals,
	struct moment now);

/* The recommendations of an earlier leader are withdrawn unless they hold. One
 * that was made anew meanwhile is withdrawn at once, and one for which this
 * process does not look. Those that make room are left to the module that
 * makes room. */
void ordering_adopt(struct ordering *ordering, struct proposals *proposals,
	struct moment now);
