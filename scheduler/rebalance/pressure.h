/* The second reason to move a running VM: its node is short of memory or I/O,
 * or its KVM is broken.
 *
 * The rule of rebalance/rule.h weighs CPU shortage that is expected. Here the
 * shortage is measured and present. This rule moves the VM that frees the most
 * per GB copied. The target is not in
 * trouble, keeps enough memory, and is the one whose expected CPU shortage
 * grows least. Budgets and cool-downs are the caller's, as for the rule.
 * Pure. */
#pragma once

#include "scheduler/rebalance/fleet.h"
#include "scheduler/rebalance/pressure_watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A move costs as much as the copy of one more GB: a small VM that relieves
 * little does not win over one that ends the trouble. */
#define PRESSURE_MOVE_GB 1.0

struct pressure_options {
	/* The watch of a node; NULL: none of its loads was noted. */
	const struct pressure_watch *(
		*watch_of)(void *owner, const struct fleet_node *node);
	fleet_may_run may_run;
	void *owner;
};

struct pressure_move {
	/* gain is the CPU shortage that the move saves on both nodes together,
	 * without a price: it may be negative. */
	struct fleet_move move;
	enum move_reason reason;
	/* KVM: a node whose KVM is broken cannot always migrate VMs away. */
	bool is_recommendation_only;
	double severity;	      /* of the trouble: 1 at its limit */
	double relief;		      /* bytes of memory, or share of time */
	double relief_per_gb;	      /* for each GB copied, and one more */
	double copied_bytes;	      /* by the move */
	double needed_bytes;	      /* of memory, on the target */
	char text[PRESSURE_TEXT_MAX]; /* pressure_watch_text() */
};

/* A search over the fleet, in slices. Zeroed is the start of a round; the fleet
 * and the watches do not change during one. */
struct pressure_search {
	size_t next_node;
	struct pressure_move best;
	bool has_best;
};

/* VMs of one node that are tried in turn, the best first, until one has a
 * target. */
enum { PRESSURE_VICTIMS = 4 };

/* About this many targets are a slice of 1 ms. */
enum { PRESSURE_SLICE = 4000 };

/* The target has fresh data, is not half way to trouble, and keeps its goal of
 * available memory once the VM has these bytes there. */
bool pressure_has_room(const struct pressure_options *options,
	const struct fleet_node *target, double bytes, int64_t now_us);

/* Goes on until about max_targets targets were compared; a node is not left
 * half searched. True: the round is complete, and best is the best move if
 * has_best: memory before I/O before KVM, then the gravest trouble, then the
 * node's name. */
bool pressure_search(struct pressure_search *search, const struct fleet *fleet,
	const struct pressure_options *options, int64_t now_us,
	size_t max_targets);
