/* Snapshot requests that wait for something new. Pure: a request is a pointer
 * that is handed back, time is an argument.
 *
 * An asker of another epoch is answered at once. Others wait until there is
 * something newer, at least PARKING_COALESCE_US so that a busy cluster costs an
 * asker ten answers a second at most, and PARKING_HOLD_US in all. */
#pragma once

#include "proto/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PARKING_MAX = 64,
	PARKING_COALESCE_US = 100000,
	PARKING_HOLD_US = 10000000,
};

struct waiter {
	void *request; /* the caller's */
	struct snapshot_request asked;
	uint64_t since_us;
};

struct parking {
	struct waiter waiters[PARKING_MAX];
	size_t count;
};

/* False: all places are taken. */
bool parking_add(struct parking *parking, void *request,
	const struct snapshot_request *asked, uint64_t now_us);

/* Takes one waiter out that is due; false if none is. */
bool parking_take_due(struct waiter *out, struct parking *parking,
	const struct snapshot_request *present, uint64_t now_us);

/* Microseconds until the next one may be due if nothing changes; UINT64_MAX if
 * nobody waits. */
uint64_t parking_wait_us(const struct parking *parking,
	const struct snapshot_request *present, uint64_t now_us);
