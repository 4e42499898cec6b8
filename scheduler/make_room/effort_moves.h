/* Orders and recommends the moves of an effort, through the mover. */
#pragma once

#include "scheduler/cache/cache.h"
#include "scheduler/make_room/effort.h"
#include "scheduler/make_room/effort_search.h"
#include "scheduler/mover/move_actions.h"
#include "scheduler/mover/mover.h"

#include <stdbool.h>

struct effort_context {
	struct move_actions *actions;
	struct cache *cache;
	struct moment now;
};

/* Takes the plan over. Moves that an earlier plan ordered and that have not
 * ended stay, and so do the records of moves that are the same. */
void effort_moves_take(struct effort *effort,
	const struct effort_context *context, const struct found_plan *found);

/* Adds the open moves of the pod's records that the effort does not have: those
 * of an earlier leader. */
void effort_moves_restore(struct effort *effort,
	const struct move_records *records);

/* Records the moves as recommended. True: one was not recorded before. */
bool effort_moves_recommend(struct effort *effort,
	const struct effort_context *context);

/* Orders the next move if everything allows it. True: it was ordered.
 * effort->why says why it waits; "": it does not, or there is none. */
bool effort_moves_order(struct effort *effort,
	const struct effort_context *context);

/* None of the moves is ordered, and each could be, as far as the VMs and the
 * filters of the targets are concerned. */
bool effort_moves_could_begin(const struct effort *effort,
	const struct effort_context *context);

/* The pods of the moved VMs have left their sources. */
bool effort_moves_have_left(const struct effort *effort,
	const struct effort_context *context);

/* Withdraws the pod's recommendations but for those in the effort; effort NULL:
 * all. why: the records' failure. */
void effort_moves_withdraw(const struct effort_context *context,
	const char *pod_uid, const struct effort *effort, const char *why);
