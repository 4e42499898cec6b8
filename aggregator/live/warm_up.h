/* Fills the windows of the live table from the store after a start.
 *
 * The live table starts with each node's last stored report. The history before
 * it is read in the background, node by node with one query of the store at a
 * time, and merged under the reports that arrived since: the reports of the
 * last hour, and the minutes of the last day for p95_cores_1d. Nodes that were
 * silent for an hour are skipped. */
#pragma once

#include "aggregator/store/store.h"

#include <uv.h>

struct live;
struct warm_up;

/* live outlives it. Never NULL. */
struct warm_up *warm_up_new(uv_loop_t *loop, struct live *live);

/* A node's last stored report, before warm_up_start(). */
void warm_up_add(struct warm_up *warm_up, const struct store_row *row,
	uint64_t now_ms);

void warm_up_start(struct warm_up *warm_up, struct store *store);

void warm_up_close(struct warm_up *warm_up); /* once the store is closed */
