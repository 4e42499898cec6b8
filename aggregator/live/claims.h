/* Which node gives up its place in the full live table. Pure.
 *
 * Without authentication any peer may invent names of nodes. A name belongs to
 * the peer that reported it last. The peer with the most names gives way first,
 * and of its names those with few reports, then the one that is silent for
 * longest. Peers are numbers; 0 stands for names that were read from the
 * store. */
#pragma once

#include "lib/map.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* A name with fewer reports is new. */
enum { CLAIMS_REPORTS = 5 };

struct claimant;

/* Part of what holds a place; zeroed at first. */
struct claim {
	TAILQ_ENTRY(claim) link;
	struct claimant *by; /* NULL: none yet */
	unsigned reports;
};

struct claims {
	struct map claimants; /* by peer */
};

void claims_fini(struct claims *claims); /* once no claim is left */

/* The peer has reported. */
void claims_note(struct claims *claims, struct claim *claim, uint64_t peer);
void claims_drop(struct claims *claims, struct claim *claim);

/* The claim that gives way to a new name of the peer; NULL: none has to. */
struct claim *claims_weakest(const struct claims *claims, uint64_t peer);
