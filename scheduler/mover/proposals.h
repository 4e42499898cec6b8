/* The moves that the rounds of a search found, from round to round.
 *
 * A move is worth a record once two rounds in a row found it, so that one
 * sample does not move a VM. A trouble of memory, I/O or KVM has lasted for a
 * minute before it counts, and one round is enough. A move holds until two
 * rounds in a row do not find it. A list for a handful of moves. Pure. */
#pragma once

#include "proto/move.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PROPOSALS_MAX = 32,
	PROPOSALS_ROUNDS = 2, /* to hold, and to hold no longer */
};

struct proposal {
	/* The figures of the last round that found it. The id is "" until the
	 * move is recorded. */
	struct move_record record;
	char pod_uid[REPORT_UID_MAX]; /* of the pod in which the VM runs */
	unsigned rounds;	      /* in a row that found it */
	unsigned missed;	      /* in a row that did not */
	bool is_found;		      /* in this round */
};

/* Zeroed: empty. */
struct proposals {
	struct proposal list[PROPOSALS_MAX];
	size_t count;
};

/* A round begins. */
void proposals_begin(struct proposals *proposals);

/* The move of this VM that earlier rounds found; NULL: none. */
const struct proposal *proposals_of(const struct proposals *proposals,
	const char *namespace, const char *vm);

/* The round found the move; record has no id. A move of the same VM to another
 * node takes over its rounds, and the other move no longer holds. A full list
 * ignores the move. */
void proposals_found(struct proposals *proposals,
	const struct move_record *record, const char *pod_uid);

/* The move was recorded before this process began to search. False: the record
 * is superseded by a move that was found meanwhile, or the list is full. */
bool proposals_restore(struct proposals *proposals,
	const struct move_record *record);

/* The round ends. */
void proposals_end(struct proposals *proposals);

bool proposal_holds(const struct proposal *proposal);
bool proposal_is_over(const struct proposal *proposal);

/* Removes the first one that is over and copies its record to out. False: there
 * is none. */
bool proposals_remove_over(struct proposals *proposals,
	struct move_record *out);

/* The move was ordered, or its VM is gone. */
void proposals_remove(struct proposals *proposals, const char *namespace,
	const char *vm);
