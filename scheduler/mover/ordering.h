/* A move that holds becomes an order if everything allows it, else a
 * recommendation. */
#pragma once

#include "lib/buffer.h"
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
	bool has_history; /* the waits of earlier leaders are restored */
	size_t vms;	  /* that run in the cluster */
};

/* The texts of a gate. */
struct gate_texts {
	struct buffer not_watching, not_ordering;
};

/* Whether moves may be ordered now. texts holds the gate's sentences, until
 * ordering_gate_fini(). */
void ordering_gate(const struct ordering *ordering, struct gate *gate,
	struct gate_texts *texts, struct moment now);
void ordering_gate_fini(struct gate_texts *texts);

/* Orders the move. False: appends one sentence why not. */
bool ordering_try(struct ordering *ordering, struct proposal *proposal,
	struct buffer *why, struct moment now);

/* Records the move as recommended, once. */
void ordering_recommend(struct ordering *ordering, struct proposal *proposal,
	struct moment now);

/* The records of moves that no longer hold become withdrawn. */
void ordering_withdraw(struct ordering *ordering, struct proposals *proposals,
	struct moment now);

/* The recommendations of an earlier leader are withdrawn unless they hold. One
 * that was made anew meanwhile is withdrawn at once. */
void ordering_adopt(struct ordering *ordering, struct proposals *proposals,
	struct moment now);
