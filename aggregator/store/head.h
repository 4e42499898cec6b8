/* The newest reports, one row each, and which reports of each run were ever
 * stored. On the writer's thread.
 *
 * A row's id consists of its slot (8 s of sample time), its node and a number
 * of its own. Rows of the same time are neighbours, so that a commit touches
 * few pages, and one seek finds the rows of one node in one slot. A report with
 * 30 VMs fills a page, and an insertion between full pages writes the pages
 * beside it again. With short slots, insertions are near the end of the table,
 * where a commit has few pages to read and to write: with 5,000 nodes, slots of
 * 131 s cost the writer twice the CPU time. Shorter slots cost a reader more
 * seeks.
 *
 * Each report is stored once. For that, the table seqs holds the intervals of
 * seq that were stored of each run, whether the reports are still rows, in
 * chunks, or deleted. */
#pragma once

#include "aggregator/store/db.h"

/* The columns of the table head. */
#define HEAD_COLUMNS                                                           \
	"(id INTEGER PRIMARY KEY, run INTEGER NOT NULL,"                       \
	" seq INTEGER NOT NULL, sample_ms INTEGER NOT NULL,"                   \
	" stored_ms INTEGER NOT NULL, body BLOB NOT NULL)"

enum { HEAD_SLOT_BITS = 13, HEAD_NODE_BITS = 20, HEAD_OWN_BITS = 14 };

/* Runs of one node, and intervals of seq of one run. Both are far above those
 * of any honest agent, which has a run for each of its processes, and an
 * interval for each time that it dropped reports. */
enum { HEAD_RUNS_MAX = 10000, HEAD_SEQS_MAX = 10000 };

#define HEAD_SLOT_MS (UINT64_C(1) << HEAD_SLOT_BITS)

/* The first id of a slot and node. */
int64_t head_id(uint64_t sample_ms, int64_t node);
int64_t head_next_node(int64_t id);
int64_t head_node(int64_t id);
uint64_t head_slot_ms(int64_t id); /* when the slot begins */

struct head;

must_check int head_new(struct head **out, struct sqlite3 *db,
	struct error *err);
void head_free(struct head *head); /* NULL is fine */

/* Finds the number of a node, or adds the node. -EDQUOT: the store has too many
 * nodes. After an error the caller undoes what this transaction changed. */
must_check int head_find_node(int64_t *id, struct head *head, const char *name,
	struct error *err);

/* "" if there is no such node, or it cannot be read. The caller frees it. */
char *head_node_name(struct sqlite3 *db, int64_t node);

struct head_report {
	int64_t node;
	const uint8_t *run_id;
	uint64_t seq, sample_ms, stored_ms;
	const void *body;
	size_t len;
};

/* Adds the row of a report whose seq is marked as stored already, with the
 * number of its run. Reads no run_id. Errors are those of head_add(). */
must_check int head_put(struct head *head, int64_t run_number,
	const struct head_report *report, struct error *err);

/* Adds a report. 1: the report is new; 0: it was stored before, and nothing
 * changed. -EDQUOT: the node has too many reports of that time, or
 * too many runs or intervals; -ERANGE: the
 * clock is past the year 2109. After an error the caller undoes what this
 * transaction changed. */
must_check int head_add(struct head *head, const struct head_report *report,
	struct error *err);

/* The newest report at or before wall_ms, to the 8 s of a slot; 0: none. */
must_check int head_find_newest(uint64_t *sample_ms, struct sqlite3 *db,
	uint64_t wall_ms, struct error *err);

struct head_deleted {
	size_t rows;
	uint64_t bytes;	  /* of the file */
	uint64_t from_ms; /* when the slot of the first one begins */
};

/* Deletes the oldest rows in slots before that of end_ms (UINT64_MAX: in any),
 * until it has deleted most_bytes or as many as one step may, but at least
 * one. *out: nothing if there are none. */
must_check int head_delete_rows(struct head_deleted *out, struct sqlite3 *db,
	uint64_t end_ms, uint64_t most_bytes, struct error *err);

/* The same for the rows of one node, whatever their time. */
must_check int head_delete_rows_of_node(struct head_deleted *out,
	struct sqlite3 *db, int64_t node, uint64_t most_bytes,
	struct error *err);

/* Deletes runs whose reports are all older than this, with their seqs. */
must_check int head_delete_runs(struct sqlite3 *db, uint64_t before_ms,
	struct error *err);
