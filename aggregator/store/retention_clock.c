#include "aggregator/store/retention_clock.h"

#include <stdlib.h>

struct retention_clock retention_clock_at(uint64_t reached_ms)
{
	return (struct retention_clock){ .reached_ms = reached_ms };
}

static int64_t note_offset(struct retention_clock *clock,
	const struct retention_reading *reading)
{
	int64_t offset_ms = (int64_t)reading->wall_ms -
		(int64_t)(reading->monotonic_us / 1000);
	int64_t jump_ms = clock->is_started ? offset_ms - clock->offset_ms : 0;

	clock->offset_ms = offset_ms;
	return llabs(jump_ms) >= RETENTION_JUMP_MS ? jump_ms : 0;
}

static bool agrees(const struct retention_reading *reading)
{
	return reading->newest_ms != 0 &&
		reading->newest_ms <= reading->wall_ms &&
		reading->wall_ms - reading->newest_ms <= RETENTION_AGREES_MS;
}

static void advance(struct retention_clock *clock, uint64_t newest_ms,
	uint64_t elapsed_us)
{
	uint64_t most_ms = elapsed_us / 1000 * RETENTION_RATE;

	if (clock->reached_ms == 0) {
		clock->reached_ms = newest_ms;
	} else if (newest_ms > clock->reached_ms) {
		uint64_t behind_ms = newest_ms - clock->reached_ms;

		clock->reached_ms += behind_ms < most_ms ? behind_ms : most_ms;
	}
}

int64_t retention_clock_read(struct retention_clock *clock,
	const struct retention_reading *reading)
{
	uint64_t now_us = reading->monotonic_us;
	uint64_t newest_ms = reading->newest_ms;
	int64_t jump_ms = note_offset(clock, reading);

	if (!clock->is_started || jump_ms != 0 || !agrees(reading)) {
		clock->agrees_since_us = now_us;
		clock->now_ms = 0;
	} else if (now_us - clock->agrees_since_us >= RETENTION_SETTLES_US) {
		advance(clock, newest_ms, now_us - clock->read_us);
		clock->now_ms = newest_ms < clock->reached_ms
			? newest_ms
			: clock->reached_ms;
	}
	clock->is_started = true;
	clock->read_us = now_us;
	return jump_ms;
}
