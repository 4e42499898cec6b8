/* The state of a test's mover, for the golden section of the test. */
#pragma once

#include "tests/unit/scheduler/mover/mover_world.h"

ssize_t __wrap_getrandom(void *out, size_t len, unsigned int flags);

/* Each run gives the moves the same ids, and lists them in the same order. */
ssize_t __wrap_getrandom(void *out, size_t len, unsigned int flags)
{
	(void)flags;
	assert_true(len >= sizeof(scene.drawn));
	memset(out, 0, len);
	scene.drawn++;
	memcpy(out, &scene.drawn, sizeof(scene.drawn));
	return (ssize_t)len;
}

static inline void tell_counts(void)
{
	struct mover_stats stats;

	mover_stats(scene.mover, &stats);
	golden_tell("%zu recommended, %zu in flight%s%s; records:",
		stats.recommendations, stats.in_flight,
		stats.is_paused ? ", paused" : "",
		stats.orders ? ", orders" : "");
	for (int i = 0; i < MOVE_STATES; i++) {
		golden_tell(" %llu", (unsigned long long)stats.counts[i]);
	}
	golden_tell("\n");
}

/* Adds what the mover says of itself. */
static inline void tell_state(void)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);

	if (scene.mover != NULL) {
		mover_describe(scene.mover, &out);
		golden_tell("%s\n", out.data);
		tell_counts();
	}
}
