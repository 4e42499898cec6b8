#include "aggregator/ingest/long_poll.h"

bool parking_add(struct parking *parking, void *request,
	const struct snapshot_request *asked, uint64_t now_us)
{
	if (parking->count == PARKING_MAX) {
		return false;
	}
	parking->waiters[parking->count] = (struct waiter){
		.request = request,
		.asked = *asked,
		.since_us = now_us,
	};
	parking->count++;
	return true;
}

static uint64_t due_us(const struct waiter *waiter,
	const struct snapshot_request *present)
{
	if (waiter->asked.epoch != present->epoch) {
		return waiter->since_us;
	}
	if (waiter->asked.rev < present->rev) {
		return waiter->since_us + PARKING_COALESCE_US;
	}
	return waiter->since_us + PARKING_HOLD_US;
}

bool parking_take_due(struct waiter *out, struct parking *parking,
	const struct snapshot_request *present, uint64_t now_us)
{
	for (size_t i = 0; i < parking->count; i++) {
		if (due_us(&parking->waiters[i], present) > now_us) {
			continue;
		}
		*out = parking->waiters[i];
		parking->count--;
		parking->waiters[i] = parking->waiters[parking->count];
		return true;
	}
	return false;
}

uint64_t parking_wait_us(const struct parking *parking,
	const struct snapshot_request *present, uint64_t now_us)
{
	uint64_t soonest = UINT64_MAX;

	for (size_t i = 0; i < parking->count; i++) {
		uint64_t due = due_us(&parking->waiters[i], present);
		uint64_t wait = due > now_us ? due - now_us : 0;

		soonest = wait < soonest ? wait : soonest;
	}
	return soonest;
}
