/* A node without a place for more reports of a time, for tests. */
#pragma once

#include "aggregator/store/db.h"
#include "aggregator/store/head.h"
#include "tests/unit/aggregator/scratch.h"

#include <sqlite3.h>

/* Takes the last id of the node and time, as 16,384 reports would. The store
 * holds a report already. */
static inline void fill_slot(struct scratch *s, int64_t node,
	uint64_t sample_ms)
{
	scoped_free char *sql = xasprintf(
		"INSERT INTO head(id, run, seq, sample_ms, stored_ms, body)"
		" VALUES (%lld, 1, 1000000, %lld, 0, x'')",
		(long long)head_next_node(head_id(sample_ms, node)) - 1,
		(long long)sample_ms);
	struct sqlite3 *db;

	assert_int_equal(db_open(&db, s->db, NULL), 0);
	assert_int_equal(db_exec(db, sql, NULL), 0);
	(void)sqlite3_close(db);
}
