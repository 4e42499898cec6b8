/* The pauses after moves that failed in a row.
 *
 * They hold for the VMs of one namespace: its owner can delete target pods and
 * migrations, and must not stop the moves of others. They hold for all VMs only
 * if VMs of several namespaces failed in a row. After a pause one move at a
 * time is tried until one succeeds, and a further failure pauses again. Times
 * are microseconds since 1970. Pure. */
#pragma once

#include "lib/map.h"
#include "scheduler/rebalance/move_records.h"

#include <stdint.h>

enum {
	/* Failures in a row that pause a namespace. */
	MOVE_PAUSES_FAILURES = 3,
	/* Namespaces whose VMs fail in a row, which pauses all. */
	MOVE_PAUSES_NAMESPACES = 3,
};

#define MOVE_PAUSES_US UINT64_C(1800000000)

struct move_pause {
	unsigned failures; /* in a row */
	uint64_t until_us; /* 0: there is none. It may be over. */
};

/* Zeroed: none. */
struct move_pauses {
	struct map by_namespace; /* owned */
	struct move_pause all;
};

void move_pauses_init(struct move_pauses *pauses,
	const struct move_records *records);
void move_pauses_fini(struct move_pauses *pauses);

struct move_pause move_pauses_of(const struct move_pauses *pauses,
	const char *namespace);

/* Walks over the namespaces that are paused now. *at starts at 0; NULL: no
 * more. */
const char *move_pauses_next(const struct move_pauses *pauses, size_t *at,
	uint64_t now_us, struct move_pause *out);
