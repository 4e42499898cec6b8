/* Packs rows that have become old enough into chunks. On the writer's thread,
 * in steps that a commit can wait for. Between the store's own files. */
#pragma once

#include "aggregator/store/thread.h"

struct compact;

/* age_ms: reports are packed when they have been rows for so long. */
must_check int compact_new(struct compact **out, struct sqlite3 *db,
	uint64_t age_ms, struct error *err);
void compact_free(struct compact *compact); /* NULL is fine */

/* Packs one node's rows of one hour, as many as a step may take, if there are
 * any that are due. *is_idle: there were none. */
must_check int compact_step(struct compact *compact, bool *is_idle,
	uint64_t now_ms, struct error *err);
