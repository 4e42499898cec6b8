#include "aggregator/store_retention.h"

#include "aggregator/store_thread.h"
#include "lib/clock.h"
#include "lib/memory.h"

#include <sqlite3.h>
#include <stdlib.h>

static const uint64_t period_us = 5000000;
static const uint64_t again_us = 100000; /* there was more than one step took */
static const uint64_t step_us = 20000;
enum { STEP_ROWS = 500 };

struct retention {
	struct sqlite3 *db;
	struct sqlite3_stmt *next_node, *delete_old;
	uint64_t kept_us, due_us;
	int64_t node; /* the one that was looked at last */
};

int retention_new(struct retention **out, struct sqlite3 *db, uint64_t kept_us,
	struct error *err)
{
	struct retention *retention = xcalloc(1, sizeof(*retention));
	int r;

	retention->db = db;
	retention->kept_us = kept_us;
	r = store_db_prepare(&retention->next_node, db,
		"SELECT id FROM node WHERE id > ? ORDER BY id LIMIT 1", err);
	if (r == 0) {
		r = store_db_prepare(&retention->delete_old, db,
			"DELETE FROM report WHERE id IN (SELECT id FROM report"
			" WHERE node = ? AND sample_ms < ? LIMIT ?)",
			err);
	}
	if (r < 0) {
		retention_free(retention);
		return r;
	}
	*out = retention;
	return 0;
}

void retention_free(struct retention *retention)
{
	if (retention != NULL) {
		(void)sqlite3_finalize(retention->next_node);
		(void)sqlite3_finalize(retention->delete_old);
		free(retention);
	}
}

uint64_t retention_due_us(const struct retention *retention)
{
	return retention->due_us;
}

/* The node after the last one, from the start again at the end; 0: none. */
static int64_t step_node(struct retention *retention)
{
	int64_t id = 0;

	for (int tries = 0; id == 0 && tries < 2; tries++) {
		(void)sqlite3_bind_int64(retention->next_node, 1,
			retention->node);
		if (sqlite3_step(retention->next_node) == SQLITE_ROW) {
			id = sqlite3_column_int64(retention->next_node, 0);
		}
		(void)sqlite3_reset(retention->next_node);
		retention->node = id;
	}
	return id;
}

static int delete_from(struct retention *retention, int64_t node, int *left,
	struct error *err)
{
	struct sqlite3_stmt *delete_old = retention->delete_old;
	uint64_t now_us = clock_wall_us();
	uint64_t oldest_ms = now_us > retention->kept_us
		? (now_us - retention->kept_us) / 1000
		: 0;
	int r = 0;

	(void)sqlite3_bind_int64(delete_old, 1, node);
	(void)sqlite3_bind_int64(delete_old, 2, (int64_t)oldest_ms);
	(void)sqlite3_bind_int(delete_old, 3, *left);
	if (sqlite3_step(delete_old) == SQLITE_DONE) {
		*left -= sqlite3_changes(retention->db);
	} else {
		r = store_db_error(retention->db, err, "cannot delete");
	}
	(void)sqlite3_reset(delete_old);
	return r;
}

/* Goes through the nodes until each was seen, enough rows are deleted, or the
 * step took its time. */
static int delete_some(struct retention *retention, bool *is_done,
	struct error *err)
{
	uint64_t end_us = clock_monotonic_us() + step_us;
	int64_t first = step_node(retention);
	int64_t node = first;
	int left = STEP_ROWS;
	int r = 0;

	*is_done = first == 0;
	while (r == 0 && !*is_done && left > 0 &&
		clock_monotonic_us() < end_us) {
		r = delete_from(retention, node, &left, err);
		if (left > 0) {
			node = step_node(retention);
			*is_done = node == first;
		}
	}
	return r;
}

int retention_step(struct retention *retention, struct error *err)
{
	uint64_t now_us = clock_monotonic_us();
	bool is_done = true;
	int r;

	if (now_us < retention->due_us) {
		return 0;
	}
	r = store_db_exec(retention->db, "BEGIN IMMEDIATE", err);
	if (r == 0) {
		r = delete_some(retention, &is_done, err);
	}
	if (r == 0) {
		r = store_db_exec(retention->db, "COMMIT", err);
	}
	if (r < 0) {
		store_db_rollback(retention->db);
	}
	retention->due_us =
		now_us + (r == 0 && !is_done ? again_us : period_us);
	return r;
}
