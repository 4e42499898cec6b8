/* Which node leaves the full live table for another. Pure.
 *
 * Without authentication any peer may invent names of nodes. A name belongs to
 * the peer that reported it last. The peer with the most names gives way first,
 * by the rules of lib/fair_share.h, and of its names those with few reports,
 * then the one that is silent for longest. Peers are numbers; 0 stands for
 * names that were read from the store. */
#pragma once

#include "lib/fair_share.h"

/* A name with fewer reports is new. */
enum { CLAIMS_REPORTS = 5 };

/* Part of a node; zeroed at first. */
struct claim {
	struct seat *seat; /* NULL: none yet */
	uint64_t peer;
	unsigned reports;
};

/* Zeroed at first. */
struct claims {
	struct fair_share share;
};

/* The peer has reported. */
void claims_note(struct claims *claims, struct claim *claim, uint64_t peer);
void claims_drop(struct claim *claim);

/* The claim that gives way to a new name of the peer; NULL: none has to. */
struct claim *claims_weakest(struct claims *claims, uint64_t peer);
