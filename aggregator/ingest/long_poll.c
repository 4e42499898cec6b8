#include "aggregator/ingest/long_poll.h"

static size_t places_of(const struct long_poll *long_poll, uint64_t peer)
{
	size_t places = 0;

	for (size_t i = 0; i < long_poll->count; i++) {
		places += long_poll->waiters[i].peer == peer;
	}
	return places;
}

/* The index of the waiter whose place a new one takes; count: a free one. */
static size_t choose_place(const struct long_poll *long_poll,
	const struct waiter *waiter)
{
	size_t chosen = long_poll->count;
	size_t most = 0;

	for (size_t i = 0; i < long_poll->count; i++) {
		const struct waiter *other = &long_poll->waiters[i];
		size_t places;

		if (other->pipe == waiter->pipe) {
			return i;
		}
		if (long_poll->count < LONG_POLL_MAX) {
			continue;
		}
		places = places_of(long_poll, other->peer);
		if (places > most ||
			(places == most &&
				other->since_us <
					long_poll->waiters[chosen].since_us)) {
			chosen = i;
			most = places;
		}
	}
	return chosen;
}

bool long_poll_add(struct long_poll *long_poll, const struct waiter *waiter,
	struct waiter *displaced)
{
	size_t place = choose_place(long_poll, waiter);
	bool is_taken = place < long_poll->count;

	if (is_taken) {
		*displaced = long_poll->waiters[place];
	} else {
		long_poll->count++;
	}
	long_poll->waiters[place] = *waiter;
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
		*out = long_poll->waiters[i];
		long_poll->count--;
		long_poll->waiters[i] = long_poll->waiters[long_poll->count];
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
