/* Rollups of nodes' hours that a reader computed from reports a moment ago.
 *
 * To compute an hour, a reader reads all reports of the node in it, of which
 * each holds all pods. A scheduler that starts asks for the profiles of a
 * node's VMs one after the other. The first question about an hour gets a
 * rollup of its pod alone, which takes less when the reports are in chunks. The
 * second one within COMPUTED_HOURS_KEPT_US gets a rollup of all pods, which is
 * kept for the others. */
#pragma once

#include "aggregator/series/rollup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	COMPUTED_HOURS_MAX = 8,
	/* A larger rollup is not kept, so all take 32 MiB at most. An hour of
	 * 100 pods with a report every 10 s has 2 MB. */
	COMPUTED_HOURS_BYTES_MAX = 4 << 20,
};

#define COMPUTED_HOURS_KEPT_US UINT64_C(10000000)
/* How long it is remembered that the rollup of an hour is too large. */
#define COMPUTED_HOURS_REFUSED_US UINT64_C(600000000)

/* Which hour of which node. */
struct computed_hour {
	int64_t node;
	uint64_t hour_ms;
};

struct computed_hours;

struct computed_hours *computed_hours_new(void);	/* never NULL */
void computed_hours_free(struct computed_hours *hours); /* NULL is fine */

/* The kept rollup with all pods; NULL: there is none. Borrowed until the next
 * call. */
const struct rollup *computed_hours_find(struct computed_hours *hours,
	const struct computed_hour *hour, uint64_t now_us);

/* Notes a question about one pod. True: there was one before, and the caller
 * computes all pods and calls computed_hours_put(). */
bool computed_hours_ask(struct computed_hours *hours,
	const struct computed_hour *hour, uint64_t now_us);

/* Takes the rollup. If it is too large or lacks pods, it is freed, and
 * questions about the hour get false for COMPUTED_HOURS_REFUSED_US. NULL: the
 * hour could not be computed. */
void computed_hours_put(struct computed_hours *hours,
	const struct computed_hour *hour, struct rollup *rollup,
	uint64_t now_us);
