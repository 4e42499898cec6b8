/* The time by which the store deletes what is too old. A pure function of the
 * readings: it reads no clock.
 *
 * Data that a wrong clock deletes does not come back, so the wall clock alone
 * does not decide:
 *
 * - The time is that of the newest stored report that is not after the wall
 *   clock. Without new reports nothing gets too old.
 * - The wall clock must have stood within RETENTION_AGREES_MS of that report
 *   for RETENTION_SETTLES_US of the monotonic clock, without a jump. A jump,
 *   and a restart, begin that time again.
 * - The time never passes RETENTION_RATE times as fast as the monotonic clock.
 *   A clock that stays days ahead, so that reports are stored with its time,
 *   therefore costs no more of the oldest history than the time for which it
 *   was ahead, also after a restart: the caller stores reached_ms. After a
 *   pause of the aggregator, the store keeps the older data for as long again;
 *   nothing was written in the pause, so that takes no more room.
 *
 * Times of reports come from the aggregator's own clock and the age that the
 * agent states, which is not negative. No agent can move this time ahead. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Agents report at least once a minute; the head sorts by 8 s. */
#define RETENTION_AGREES_MS UINT64_C(300000)

/* A daemon that sets the clock does so within the first minutes. */
#define RETENTION_SETTLES_US UINT64_C(600000000)

/* A clock that is being adjusted drifts by 5 ms in the 10 s between two
 * readings (500 ppm), and a leap second is one second. */
#define RETENTION_JUMP_MS INT64_C(10000)

enum { RETENTION_RATE = 2 };

struct retention_clock {
	uint64_t reached_ms; /* the time so far; 0: none yet. To be stored */
	uint64_t now_ms;     /* delete by this; 0: delete nothing */
	bool is_started;
	uint64_t read_us, agrees_since_us; /* on the monotonic clock */
	int64_t offset_ms; /* of the wall clock from the monotonic one */
};

struct retention_reading {
	uint64_t monotonic_us, wall_ms;
	/* The newest stored report that is not after wall_ms; 0: none. */
	uint64_t newest_ms;
};

/* A clock that continues at reached_ms. */
struct retention_clock retention_clock_at(uint64_t reached_ms);

/* Sets now_ms. Returns by how much the wall clock has jumped since the last
 * reading, in milliseconds; 0: it has not. */
int64_t retention_clock_read(struct retention_clock *clock,
	const struct retention_reading *reading);
