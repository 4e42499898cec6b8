/* The measured loads of both nodes of a move: when it is ordered, 3 minutes
 * after its end, and an hour after its end. */
#pragma once

#include "scheduler/cache/cache.h"
#include "scheduler/mover/recorder.h"

#define MEASURES_SOON_US UINT64_C(180000000)
#define MEASURES_LATE_US UINT64_C(3600000000)

/* A figure that could not be taken within this time of its own, because no
 * scheduler ran or no data was fresh, stays unknown. */
#define MEASURES_GRACE_US UINT64_C(300000000)

/* The mean of the node's use over 5 minutes, as a share of its cores; NAN: no
 * fresh data. */
double measures_share(const struct cache *cache, const char *node,
	int64_t now_us);

/* To be called every few seconds: takes what is due and sends the records. */
void measures_take(struct recorder *recorder, const struct cache *cache,
	struct moment now);
