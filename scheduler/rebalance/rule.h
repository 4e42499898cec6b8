/* The rule that chooses moves: a VM moves if that saves more expected shortage
 * within an hour than the price of a move.
 *
 * docs/scoring.md explains the rule and its constants. Pure. */
#pragma once

#include "scheduler/rebalance/fleet.h"

#include <stdbool.h>
#include <stddef.h>

/* The constant part of the price, in core-steps of 5 minutes: 45 core-seconds.
 * The rule's one dial, --price and --rebalance-price. */
#define RULE_PRICE 0.15

/* The price of a copy of unknown duration, flat. As good as the price by
 * memory. */
#define RULE_PRICE_FLAT 0.3

struct rule_options {
	double price; /* the constant part */
	/* Seconds that a copy of this VM takes; NULL: RULE_PRICE_FLAT in
	 * relation to RULE_PRICE replaces both parts. */
	double (*copy_seconds)(void *owner, const struct fleet_vm *vm);
	fleet_may_run may_run;
	void *owner;
};

/* The forecast is one hour: the steps in it, and the seconds of a step. */
#define RULE_STEPS 12.0
#define RULE_STEP_S 300.0

/* Two nodes work on a copy, each with one core. */
#define RULE_COPY_CORES 2.0

/* Seconds for which a VM rests after a move, by the number of its moves: one
 * hour x 2^(moves - 1), at most six hours. 0 without a move. */
double rule_cooldown_s(unsigned int moves);

/* The price of a move of this VM: the constant part, and the copy. */
double rule_price(const struct rule_options *options,
	const struct fleet_vm *vm);

/* A VM whose leaving saves something. */
struct rule_candidate {
	size_t vm;
	double source_after; /* core-steps, without the VM */
	double saved;	     /* by leaving, less the price */
};

/* A search over the fleet, in slices: a round over 30,000 VMs must not hold
 * the event loop. Zeroed is the start of a round; the fleet does not change
 * during one.
 *
 * The VMs are tried in the order of what their leaving saves. Once that is less
 * than the best move gains, no other VM can do better. VMs with equal figures
 * share what they cost at each target. */
struct rule_search {
	size_t next_vm; /* to be weighed */
	bool is_weighed;
	struct rule_candidate *candidates; /* owned; a heap, then the tried */
	size_t count, total, capacity;	   /* of the heap, and with the tried */
	double *costs; /* owned; by node, for costs_of; NAN: not computed */
	size_t node_count;
	struct fleet_vm costs_of;
	double least; /* cost of costs_of at any target, at least */
	/* VMs that save this much or more are left out; 0: none. */
	double below;
	struct fleet_move best;
	bool has_best;
};

/* About this many shortages are a slice of 1 ms. */
enum { RULE_SLICE = 5000 };

/* Goes on until about max_shortages were computed; a VM is not left half
 * searched. True: the round is complete, and best is the best move if has_best.
 * Equal gains: the first VM by namespace and name, then the first node by
 * name. Before that, best is the best move so far. */
bool rule_search(struct rule_search *search, const struct fleet *fleet,
	const struct rule_options *options, size_t max_shortages);

/* Starts a search for the next best move. The fleet may differ from that of the
 * last search in VMs that may not move any more, and in nodes that may neither
 * give nor take any more. */
void rule_search_again(struct rule_search *search);

/* No VM that was not tried saves more; 0: all were tried. */
double rule_search_left(const struct rule_search *search);

void rule_search_fini(struct rule_search *search); /* zeroes it */
