/* Whether a move may be ordered now, and if not, why, in one sentence. Pure. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/rebalance/budget.h"
#include "scheduler/rebalance/windows.h"

#include <stdbool.h>
#include <stdint.h>

enum mover_mode { MOVER_OFF, MOVER_RECOMMEND, MOVER_AUTOMATIC };

const char *mover_mode_name(enum mover_mode mode); /* as of the flags */

/* The purpose of a move decides which flag allows it, and whether it waits. */
enum gate_purpose {
	GATE_REBALANCE, /* --rebalance, within --rebalance-windows */
	GATE_ROOM,	/* --make-room, at any time */
};

struct gate {
	enum gate_purpose purpose;
	enum mover_mode mode; /* of that flag */
	bool is_synced;	      /* the caches */
	bool leads;
	/* Sentences of kubevirt_is_ready() and kubevirt_may_order(); "": the
	 * answer was yes. */
	const char *not_watching, *not_ordering;
	/* An aggregator has sent the records of earlier moves. */
	bool has_history;
	const struct windows *windows;
	uint64_t wall_us;
	/* All moves are paused, after failures in several namespaces; 0:
	 * never. */
	uint64_t paused_until_us;
	unsigned failures; /* in a row, of all */
	struct budget budget;
};

/* Moves are only recommended, whatever the time and the budgets. */
bool gate_recommends_only(const struct gate *gate);

/* False: appends the sentence. */
bool gate_is_open(const struct gate *gate, struct buffer *why);
