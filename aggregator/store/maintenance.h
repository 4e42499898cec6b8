/* Background work on the database: packs rows, rolls up hours, and deletes old
 * data by age (store/retention_clock.h) and size (store/size_limit.h). On the
 * writer's thread between commits, in steps short enough not to delay them. */
#pragma once

#include "aggregator/store/stats.h"

struct maintenance;
struct sqlite3;

/* db outlives it; options are copied. */
must_check int maintenance_new(struct maintenance **out, struct sqlite3 *db,
	const struct store_options *options, struct error *err);
void maintenance_free(struct maintenance *maintenance); /* NULL is fine */

/* When the next step is due, on the monotonic clock. */
uint64_t maintenance_due_us(const struct maintenance *maintenance);

struct maintenance_now {
	uint64_t monotonic_us, wall_ms;
	/* The newest report that found no space; deleting has to go on. */
	uint64_t unstored_ms;
};

/* Counts over all steps. */
struct left_out maintenance_left_out(const struct maintenance *maintenance);

/* See size_limit_used_bytes(). */
uint64_t maintenance_used_bytes(const struct maintenance *maintenance);

/* Does a step if one is due. */
must_check int maintenance_step(struct maintenance *maintenance,
	const struct maintenance_now *now, struct error *err);

/* The files cannot be used: the next step is due a period later, or the
 * writer's thread would try again without a pause. */
void maintenance_postpone(struct maintenance *maintenance, uint64_t now_us);
