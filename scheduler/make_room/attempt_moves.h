/* Orders and recommends the moves of an attempt, through the mover. */
#pragma once

#include "scheduler/cache/cache.h"
#include "scheduler/make_room/attempt.h"
#include "scheduler/make_room/attempt_search.h"
#include "scheduler/mover/move_actions.h"
#include "scheduler/mover/mover.h"

#include <stdbool.h>

struct attempt_context {
	struct move_actions *actions;
	struct cache *cache;
	struct moment now;
};

/* Takes the plan over. Moves that an earlier plan ordered and that have not
 * ended stay, and so do the records of moves that are the same. */
void attempt_moves_take(struct attempt *attempt,
	const struct attempt_context *context, const struct found_plan *found);

/* Adds the open moves of the pod's records that the attempt does not have:
 * those of an earlier leader. */
void attempt_moves_restore(struct attempt *attempt,
	const struct move_records *records);

/* Records the moves as recommended. True: one was not recorded before. */
bool attempt_moves_recommend(struct attempt *attempt,
	const struct attempt_context *context);

/* Orders the next move if everything allows it. True: it was ordered.
 * attempt->why says why it waits; "": it does not, or there is none. */
bool attempt_moves_order(struct attempt *attempt,
	const struct attempt_context *context);

/* None of the moves is ordered, and each could be, as far as the VMs and the
 * filters of the targets are concerned. */
bool attempt_moves_could_begin(const struct attempt *attempt,
	const struct attempt_context *context);

/* The pods of the moved VMs have left their sources. */
bool attempt_moves_have_left(const struct attempt *attempt,
	const struct attempt_context *context);

/* Withdraws the pod's recommendations but for those in the attempt; attempt
 * NULL: all. why: the records' failure. */
void attempt_moves_withdraw(const struct attempt_context *context,
	const char *pod_uid, const struct attempt *attempt, const char *why);
