#include "aggregator/ingest/long_poll.h"

bool long_poll_add(struct long_poll *long_poll, void *handle,
	const struct snapshot_request *request, uint64_t now_us)
{
	if (long_poll->count == LONG_POLL_MAX) {
		return false;
	}
	long_poll->waiters[long_poll->count++] = (struct waiter){
		.handle = handle,
		.request = *request,
		.since_us = now_us,
	};
	return true;
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
