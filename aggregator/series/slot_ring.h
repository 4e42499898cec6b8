/* A ring of time slots, for window.c and histogram_window.c. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct slot_ring {
	uint64_t slot_us;
	uint64_t newest; /* number of the newest slot: time / slot_us */
	size_t count;
};

static inline uint64_t slot_ring_oldest(const struct slot_ring *ring)
{
	return ring->newest < ring->count ? 0 : ring->newest - ring->count + 1;
}

/* The slot of a time, or the oldest one. */
static inline uint64_t slot_ring_find(const struct slot_ring *ring,
	uint64_t at_us)
{
	uint64_t slot = at_us / ring->slot_us;
	uint64_t oldest = slot_ring_oldest(ring);

	return slot < oldest ? oldest : slot;
}

/* Moves on to a newer slot. The caller clears as many slots as this returns,
 * the last of which is the newest one. */
static inline uint64_t slot_ring_advance(struct slot_ring *ring, uint64_t slot)
{
	uint64_t steps = slot > ring->newest ? slot - ring->newest : 0;

	ring->newest += steps;
	return steps < ring->count ? steps : ring->count;
}

/* Microseconds of a slot that are in the interval, which overlaps the slot. */
static inline uint64_t slot_ring_overlap_us(const struct slot_ring *ring,
	uint64_t slot, uint64_t from_us, uint64_t to_us)
{
	uint64_t start = slot * ring->slot_us;
	uint64_t end = start + ring->slot_us;

	return (end < to_us ? end : to_us) -
		(start > from_us ? start : from_us);
}
