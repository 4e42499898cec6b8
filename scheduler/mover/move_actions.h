/* A move that holds becomes an order if everything allows it, else a
 * recommendation.
 *
 * A move that makes room (MOVE_FOR_ROOM) needs no rounds: its proposal has a
 * record from move_words_for_room() and pod_uid, and its record's id is "" or
 * that of its recommendation. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/mover/conflicts.h"
#include "scheduler/mover/gate.h"
#include "scheduler/mover/mover.h"
#include "scheduler/mover/open_moves.h"
#include "scheduler/mover/proposals.h"

#include <stdbool.h>
#include <stddef.h>

/* All borrowed. */
struct move_actions {
	const struct mover_options *options;
	struct kubevirt *kubevirt;
	struct recorder *recorder;
	struct open_moves *open_moves;
	const struct conflicts *conflicts;
	bool has_history; /* the waits of earlier leaders are restored */
	size_t vms;	  /* that run in the cluster */
};

/* For other modules; all borrowed. The records change only by what is below. */
const struct kubevirt *move_actions_kubevirt(
	const struct move_actions *actions);
const struct move_records *move_actions_records(
	const struct move_actions *actions);
const struct conflicts *move_actions_conflicts(
	const struct move_actions *actions);

/* The texts of a gate. */
struct gate_texts {
	struct buffer not_watching, not_ordering;
};

/* Whether moves for this purpose may be ordered now. texts holds the gate's
 * sentences, until move_actions_gate_fini(). */
void move_actions_gate(const struct move_actions *actions,
	enum gate_purpose purpose, struct gate *gate, struct gate_texts *texts,
	struct moment now);
void move_actions_gate_fini(struct gate_texts *texts);

/* Orders the move; the proposal's record is the recorder's from now on. False:
 * appends one sentence why not. The target's filters are the caller's to
 * check, just before. */
bool move_actions_order(struct move_actions *actions, struct proposal *proposal,
	struct buffer *why, struct moment now);

/* Records the move as recommended, once. The proposal gets the record's id and
 * state. */
void move_actions_recommend(struct move_actions *actions,
	struct proposal *proposal, struct moment now);

/* The recommendation of this id no longer holds; why: NULL or the sentence that
 * the record keeps. No effect if there is none, or if the move was ordered. */
void move_actions_withdraw(struct move_actions *actions, const char *id,
	const char *why, struct moment now);

/* The records of moves that no longer hold become withdrawn. */
void move_actions_withdraw_old(struct move_actions *actions,
	struct proposals *proposals, struct moment now);

/* The recommendations of an earlier leader are withdrawn unless they hold. One
 * that was made again meanwhile is withdrawn at once, and one for which this
 * process does not look. Those that make room are left to the module that
 * makes room. */
void move_actions_take_over(struct move_actions *actions,
	struct proposals *proposals, struct moment now);
