/* What the database needs beside reports: rows are packed, hours rolled up, the
 * past is let go of, by age and by size. On the writer's thread, between its
 * commits, in steps small enough not to hold them up. */
#pragma once

#include "aggregator/store/store.h"

struct upkeep;
struct sqlite3;

/* db outlives it; options are copied. */
must_check int upkeep_new(struct upkeep **out, struct sqlite3 *db,
	const struct store_options *options, struct error *err);
void upkeep_free(struct upkeep *upkeep); /* NULL is fine */

/* When the next step is due, on the monotonic clock. */
uint64_t upkeep_due_us(const struct upkeep *upkeep);

/* Does a step if one is due; else nothing. */
must_check int upkeep_step(struct upkeep *upkeep, struct error *err);
