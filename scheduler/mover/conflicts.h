/* VMs that somebody else moves after we moved them.
 *
 * If a migration that we did not order takes a VM away from the node to which
 * we moved it, within CONFLICTS_SOON_US of that move, someone disagrees:
 * another mover, or a person. The mover then leaves the VM alone for
 * CONFLICTS_ALONE_US. Bounded; times are microseconds since 1970. Pure. */
#pragma once

#include "lib/map.h"
#include "proto/move.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFLICTS_SOON_US UINT64_C(7200000000)
#define CONFLICTS_ALONE_US UINT64_C(21600000000)

enum { CONFLICTS_MAX = 1024 };

/* Zeroed: none. */
struct conflicts {
	struct map until; /* "namespace/vm" -> the end, as uint64_t */
};

void conflicts_fini(struct conflicts *conflicts);

/* A migration that is not ours is on its way from source, or ended. last: our
 * last move of the VM; NULL: none. True: the mover leaves the VM alone
 * from now on. */
bool conflicts_observe(struct conflicts *conflicts,
	const struct move_record *last, const char *source, uint64_t now_us);

/* The end of the truce; 0: there is none. */
uint64_t conflicts_until(const struct conflicts *conflicts,
	const char *namespace, const char *vm, uint64_t now_us);

/* The VMs that are left alone now. Forgets the others. */
size_t conflicts_count(struct conflicts *conflicts, uint64_t now_us);
