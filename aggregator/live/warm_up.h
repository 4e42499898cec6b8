/* Fills the windows of the live table from the store after a start.
 *
 * The live table begins with each node's last stored report; what came before
 * is read node by node in the background, one query of the store at a time, and
 * put behind what has come in meanwhile: the reports of the last hour, and the
 * minutes of the last day for p95_cores_1d. Nodes that were silent for an hour
 * are left as they are. */
#pragma once

#include "aggregator/store/store.h"

#include <uv.h>

struct live;
struct refill;

/* live outlives it. Never NULL. */
struct refill *refill_new(uv_loop_t *loop, struct live *live);

/* A node's last stored report, before refill_start(). */
void refill_add(struct refill *refill, const struct store_row *row,
	uint64_t now_ms);

void refill_start(struct refill *refill, struct store *store);

void refill_close(struct refill *refill); /* once the store is closed */
