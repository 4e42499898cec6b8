/* Keeps the database below --max-db-size, whatever fills it. On the writer's
 * thread, in steps short enough for a commit to wait. A step deletes from the
 * first of these that has something:
 *
 *  1. reports that wait for a remote write that is switched off: nobody will
 *     send them, and the history has them, too;
 *  2. decision records above 1/16 of the limit, and moves likewise, those that
 *     arrived first: they explain the past, and must not cost the history;
 *  3. the last day of each tier, while it begins in the future: the clock was
 *     ahead when it was stored. Only if the clock is right for certain;
 *  4. the oldest data of the node that has the most, while it has more than its
 *     share (node_usage): one node must not push out the days of the others;
 *  5. the oldest day of reports, then of minutes, while there is another day;
 *  6. the oldest rows of the head above half the limit: more reports an hour
 *     than the limit can hold must not push out all minutes and hours;
 *  7. what is left of reports, of minutes, of hours, then the head, each from
 *     the oldest on, and the last records.
 *
 * A queue of remote write that is on has its own limit, at most half of this
 * one (aggregator/config.c). Each kind of data that was deleted is logged with
 * its count, at once and then each minute. */
#pragma once

#include "aggregator/store/store.h"

struct size_limit;
struct sqlite3;

/* db outlives it. */
must_check int size_limit_new(struct size_limit **out, struct sqlite3 *db,
	const struct store_options *options, struct error *err);
/* Logs what was deleted since the last line. NULL is fine. */
void size_limit_free(struct size_limit *limit);

struct size_limit_now {
	uint64_t monotonic_us;
	uint64_t wall_ms; /* UINT64_MAX: the clock may be wrong */
};

/* Deletes something if the database is too large. *is_idle: it is not, or there
 * is nothing left. Inside the caller's transaction. */
must_check int size_limit_step(struct size_limit *limit, bool *is_idle,
	const struct size_limit_now *now, struct error *err);

/* The size that --max-db-size limits, also known without a limit: bytes of
 * pages in use after the last step; 0 before the first. */
uint64_t size_limit_used_bytes(const struct size_limit *limit);
