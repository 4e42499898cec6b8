/* Snapshot requests that wait for a change. Pure: time is an argument, and a
 * request is a pointer that the caller gets back.
 *
 * A client of another epoch is answered at once. Any other waits until there is
 * something newer, but no longer than LONG_POLL_HOLD_US. A wait takes
 * LONG_POLL_COALESCE_US, so that a client gets about five answers a second; or
 * half of it at least, if another client is answered then.
 *
 * A new request always gets a seat. It takes the one of its own connection, if
 * that has one. If all are taken, the peer with the most of them gives up the
 * request that waits for longest, see lib/fair_share.h. */
#pragma once

#include "lib/fair_share.h"
#include "proto/wire.h"

enum {
	LONG_POLL_MAX = 64,
	LONG_POLL_COALESCE_US = 200000,
	LONG_POLL_HOLD_US = 10000000,
};

struct waiter {
	void *handle; /* the caller's */
	struct snapshot_request request;
	uint64_t since_us;
	uint32_t pipe; /* the connection */
	uint64_t peer; /* equal for all connections of a peer */
};

struct long_poll {
	struct waiter waiters[LONG_POLL_MAX];
	struct seat *seats[LONG_POLL_MAX]; /* theirs */
	size_t count;
	struct fair_share share;
};

void long_poll_init(struct long_poll *long_poll);
void long_poll_fini(struct long_poll *long_poll);

/* True: *displaced had to give way, and is answered now. */
bool long_poll_add(struct long_poll *long_poll, const struct waiter *waiter,
	struct waiter *displaced);

/* Removes a waiter that is due; false if none is. current holds the epoch and
 * the newest revision. */
bool long_poll_take_due(struct waiter *out, struct long_poll *long_poll,
	const struct snapshot_request *current, uint64_t now_us);

/* Microseconds until the next waiter is due if nothing changes; UINT64_MAX
 * without waiters. */
uint64_t long_poll_wait_us(const struct long_poll *long_poll,
	const struct snapshot_request *current, uint64_t now_us);
