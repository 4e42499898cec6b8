/* VMs that somebody else moves after we moved them.
 *
 * If a migration that we did not order takes a VM away from the node to which
 * we moved it, within DUELS_SOON_US of that move, someone disagrees: another
 * mover, or a person. The mover then leaves the VM alone for DUELS_ASIDE_US.
 * Bounded; times are microseconds since 1970. Pure. */
#pragma once

#include "lib/map.h"
#include "proto/move.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DUELS_SOON_US UINT64_C(7200000000)
#define DUELS_ASIDE_US UINT64_C(21600000000)

enum { DUELS_MAX = 1024 };

/* Zeroed: none. */
struct duels {
	struct map until; /* "namespace/vm" -> the end, as uint64_t */
};

void duels_fini(struct duels *duels);

/* A migration that is not ours is on its way from source, or ended. last: our
 * last move of the VM; NULL: none. True: the mover stands aside from now on. */
bool duels_observe(struct duels *duels, const struct move_record *last,
	const char *source, uint64_t now_us);

/* The end of the truce; 0: there is none. */
uint64_t duels_until(const struct duels *duels, const char *namespace,
	const char *vm, uint64_t now_us);

/* The VMs that are left alone now. Forgets the others. */
size_t duels_count(struct duels *duels, uint64_t now_us);
