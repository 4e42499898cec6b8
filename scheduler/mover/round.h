/* One look at the whole cluster for moves that pay, in slices.
 *
 * A round at 1,000 nodes and 30,000 VMs takes some 50 ms of work. It is done in
 * slices, between which the event loop serves everything else. */
#pragma once

#include "scheduler/mover/fleet_build.h"
#include "scheduler/mover/live_filter.h"
#include "scheduler/mover/placement.h"
#include "scheduler/mover/proposals.h"
#include "scheduler/rebalance/move_pauses.h"
#include "scheduler/rebalance/pressure.h"
#include "scheduler/rebalance/rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The work of a slice; a step of the work is less than 1 ms, and the loop must
 * not be held for 5 ms. */
#define ROUND_SLICE_US INT64_C(2000)

/* The search of a round ends after this much work. If most nodes are hot, that
 * is enough for the VMs whose leaving saves most. If none of these has a
 * target, the next round goes on with those that save less. */
#define ROUND_SEARCH_US INT64_C(25000)
/* The same for the whole round, which takes 50 ms at most. */
#define ROUND_WORK_US INT64_C(40000)

enum {
	ROUND_SHORTAGES = 2000, /* of one step: about 0.4 ms */
	ROUND_TARGETS = 1000,	/* of one step, for memory, I/O and KVM */
	/* More than a few moves per round gain nothing. */
	ROUND_MOVES_MAX = 4,
};

/* An earlier round's target stays unless another one saves this much more, or
 * for memory, I/O and KVM, costs this many core-steps less. */
#define ROUND_KEEPS 0.8
#define ROUND_KEEPS_STEPS RULE_PRICE

enum round_phase {
	ROUND_IDLE,
	ROUND_BUILDING,
	ROUND_RELIEVING, /* nodes short of memory or I/O, or without KVM */
	ROUND_PLACING,	 /* VMs that stand where they may not */
	ROUND_SEARCHING,
};

/* Zeroed but for the first three: ready. */
struct round {
	struct fleet_sources sources;
	struct proposals *proposals;
	double price;
	double copy_pace; /* seconds for each byte; NAN: not known */
	enum round_phase phase;
	struct fleet_build build;
	struct live_filter filter;
	struct move_pauses pauses;
	struct pressure_search pressure;
	struct placement placement;
	size_t placed; /* misplaced VMs that were asked about */
	struct rule_search search;
	/* Found in this round: to be ordered, and only to be recommended. */
	size_t moves, recommended;
	/* No VM that the last round without a move did not try saves more,
	 * less the price of its move; 0: all were tried. */
	double left;
	/* The last round looked at these; work_us sums its slices. */
	size_t nodes, vms, movable;
	char exclusion
		[FLEET_BUILD_EXCLUSION_MAX]; /* as of struct fleet_build */
	char exclusion_names[FLEET_BUILD_NAMES_MAX];
	struct not_movable not_movable;
	int64_t work_us;
	int64_t built_us;	  /* work_us when the search began */
	int64_t longest_slice_us; /* since the start of the process */
};

void round_begin(struct round *round);

/* Works for a slice. True: the round is complete, and the proposals have its
 * moves. The clock is read inside. */
bool round_work(struct round *round);

/* Forgets the round that is under way. */
void round_abort(struct round *round);

void round_fini(struct round *round);
