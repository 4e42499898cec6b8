/* The last loads of each node, newest last. */
#pragma once

#include "scheduler/rebalance/fleet.h"

#include <stddef.h>

/* CloudSim's Host.HISTORY_LENGTH. */
enum { LOAD_HISTORY_MAX = 30 };

struct load_history {
	double (*loads)[LOAD_HISTORY_MAX]; /* owned; one row per node */
	size_t node_count;
	size_t count; /* of each row */
};

/* The fleet always has the same nodes. */
void load_history_add(struct load_history *history, const struct fleet *fleet);
void load_history_fini(struct load_history *history); /* zeroed is fine */
