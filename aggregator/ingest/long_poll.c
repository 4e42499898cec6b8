#include "aggregator/ingest/long_poll.h"

void long_poll_init(struct long_poll *long_poll)
{
	*long_poll = (struct long_poll){ .share.limits.max = LONG_POLL_MAX };
}

static struct waiter take(struct long_poll *long_poll, size_t i)
{
	struct waiter waiter = long_poll->waiters[i];

	seat_remove(long_poll->seats[i]);
	long_poll->count--;
	long_poll->waiters[i] = long_poll->waiters[long_poll->count];
	long_poll->seats[i] = long_poll->seats[long_poll->count];
	return waiter;
}

void long_poll_fini(struct long_poll *long_poll)
{
	while (long_poll->count > 0) {
		(void)take(long_poll, 0);
	}
}

/* The index of the waiter that a new one displaces; count: none. */
static size_t find_displaced(struct long_poll *long_poll,
	const struct waiter *waiter, const struct seat_request *request)
{
	size_t found = long_poll->count;
	struct seat *victim;

	(void)fair_share_check(&long_poll->share, request, &victim);
	for (size_t i = 0; i < long_poll->count; i++) {
		if (long_poll->waiters[i].pipe == waiter->pipe) {
			return i;
		}
		if (long_poll->seats[i] == victim) {
			found = i;
		}
	}
	return found;
}

bool long_poll_add(struct long_poll *long_poll, const struct waiter *waiter,
	struct waiter *displaced)
{
	const struct seat_request request = { .flow = waiter->peer,
		.size = 1,
		.state = SEAT_YIELDING,
		.now_us = waiter->since_us };
	size_t i = find_displaced(long_poll, waiter, &request);
	bool is_taken = i < long_poll->count;

	if (is_taken) {
		*displaced = take(long_poll, i);
	}
	long_poll->waiters[long_poll->count] = *waiter;
	long_poll->seats[long_poll->count++] =
		fair_share_add(&long_poll->share, &request);
	return is_taken;
}

static uint64_t due_us(const struct waiter *waiter,
	const struct snapshot_request *current)
{
	if (waiter->request.epoch != current->epoch) {
		return waiter->since_us;
	}
	if (waiter->request.rev < current->rev) {
		return waiter->since_us + LONG_POLL_COALESCE_US;
	}
	return waiter->since_us + LONG_POLL_HOLD_US;
}

bool long_poll_take_due(struct waiter *out, struct long_poll *long_poll,
	const struct snapshot_request *current, uint64_t now_us)
{
	for (size_t i = 0; i < long_poll->count; i++) {
		if (due_us(&long_poll->waiters[i], current) > now_us) {
			continue;
		}
		*out = take(long_poll, i);
		return true;
	}
	return false;
}

uint64_t long_poll_wait_us(const struct long_poll *long_poll,
	const struct snapshot_request *current, uint64_t now_us)
{
	uint64_t soonest = UINT64_MAX;

	for (size_t i = 0; i < long_poll->count; i++) {
		uint64_t due = due_us(&long_poll->waiters[i], current);
		uint64_t wait = due > now_us ? due - now_us : 0;

		soonest = wait < soonest ? wait : soonest;
	}
	return soonest;
}
