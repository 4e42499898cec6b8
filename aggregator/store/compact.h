/* Packs old rows of the head into chunks. On the writer's thread, in steps
 * short enough for a commit to wait. */
#pragma once

#include "aggregator/store/db.h"

struct compact;

/* age_ms: how long reports stay rows. */
must_check int compact_new(struct compact **out, struct sqlite3 *db,
	uint64_t age_ms, struct error *err);
void compact_free(struct compact *compact); /* NULL is fine */

/* Packs rows of nodes' hours, up to the limit of a step, if rows are due.
 * *is_idle: no more are due. In a transaction of its own. */
must_check int compact_step(struct compact *compact, bool *is_idle,
	uint64_t now_ms, struct error *err);
