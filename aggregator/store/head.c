#include "aggregator/store/head.h"

#include "lib/memory.h"
#include "proto/report.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum {
	NODE_SHIFT = HEAD_OWN_BITS,
	SLOT_SHIFT = HEAD_OWN_BITS + HEAD_NODE_BITS
};

/* Slots have 29 bits, which last until the year 2109. */
static const uint64_t sample_max_ms = UINT64_C(1) << (29 + HEAD_SLOT_BITS);
/* A run is deleted when its last report is too old. */
static const int64_t touch_every_ms = 600000;
static const int64_t node_max = (INT64_C(1) << HEAD_NODE_BITS) - 2;

enum {
	FIND_NODE,
	ADD_NODE,
	FIND_RUN,
	TOUCH_RUN,
	COUNT_RUNS,
	COUNT_SEQS,
	ADD_RUN,
	FIND_SEQS,
	ADD_SEQS,
	EXTEND_SEQS,
	DELETE_SEQS,
	LAST_ID,
	ADD_REPORT,
	STATEMENTS,
};

static const char *const sqls[STATEMENTS] = {
	[FIND_NODE] = "SELECT id FROM node WHERE name = ?",
	[ADD_NODE] = "INSERT INTO node(name) VALUES (?)",
	[FIND_RUN] =
		"SELECT id, last_ms FROM run WHERE node = ? AND run_id = ?",
	[TOUCH_RUN] = "UPDATE run SET last_ms = max(last_ms, ?2) WHERE id = ?1",
	[COUNT_RUNS] = "SELECT count(*) FROM run WHERE node = ?",
	[COUNT_SEQS] = "SELECT count(*) FROM seqs WHERE run = ?",
	[ADD_RUN] = "INSERT INTO run(node, run_id, last_ms) VALUES (?, ?, ?)",
	[FIND_SEQS] =
		"SELECT first, last FROM seqs WHERE run = ?"
		" AND first <= ? ORDER BY first DESC LIMIT 1",
	[ADD_SEQS] = "INSERT INTO seqs(run, first, last) VALUES (?, ?, ?)",
	[EXTEND_SEQS] =
		"UPDATE seqs SET last = ?3 WHERE run = ?1"
		" AND first = ?2",
	[DELETE_SEQS] = "DELETE FROM seqs WHERE run = ? AND first = ?",
	[LAST_ID] = "SELECT max(id) FROM head WHERE id >= ? AND id < ?",
	[ADD_REPORT] =
		"INSERT INTO head(id, run, seq, sample_ms, stored_ms,"
		" body) VALUES (?, ?, ?, ?, ?, ?)",
};

struct head {
	struct sqlite3 *db;
	struct sqlite3_stmt *statements[STATEMENTS];
};

int64_t head_id(uint64_t sample_ms, int64_t node)
{
	return (int64_t)(sample_ms >> HEAD_SLOT_BITS) << SLOT_SHIFT |
		node << NODE_SHIFT;
}

int64_t head_next_node(int64_t id)
{
	return ((id >> NODE_SHIFT) + 1) << NODE_SHIFT;
}

int64_t head_node(int64_t id)
{
	return id >> NODE_SHIFT & ((INT64_C(1) << HEAD_NODE_BITS) - 1);
}

uint64_t head_slot_ms(int64_t id)
{
	return (uint64_t)(id >> SLOT_SHIFT) << HEAD_SLOT_BITS;
}

int head_new(struct head **out, struct sqlite3 *db, struct error *err)
{
	struct head *head = xcalloc(1, sizeof(*head));
	int r = 0;

	head->db = db;
	for (size_t i = 0; r == 0 && i < STATEMENTS; i++) {
		r = db_prepare(&head->statements[i], db, sqls[i], err);
	}
	if (r < 0) {
		head_free(head);
		return r;
	}
	*out = head;
	return 0;
}

void head_free(struct head *head)
{
	if (head != NULL) {
		for (size_t i = 0; i < STATEMENTS; i++) {
			(void)sqlite3_finalize(head->statements[i]);
		}
		free(head);
	}
}

/* Binds integers to the first parameters and executes the statement. out gets
 * two integers of the first row, and stays as it is if there is no row. */
static int run(struct head *head, size_t which, const int64_t *in, int count,
	int64_t out[2], struct error *err)
{
	struct sqlite3_stmt *statement = head->statements[which];
	int r = 0;

	for (int i = 0; i < count; i++) {
		(void)sqlite3_bind_int64(statement, i + 1, in[i]);
	}
	if (db_step(&r, statement, err)) {
		out[0] = sqlite3_column_int64(statement, 0);
		out[1] = sqlite3_column_int64(statement, 1);
	}
	(void)sqlite3_reset(statement);
	(void)sqlite3_clear_bindings(statement);
	return r;
}

int head_find_node(int64_t *id, struct head *head, const char *name,
	struct error *err)
{
	int64_t out[2] = { 0 };
	int r;

	db_bind_text(head->statements[FIND_NODE], 1, name);
	r = run(head, FIND_NODE, NULL, 0, out, err);
	if (r == 0 && out[0] == 0) {
		db_bind_text(head->statements[ADD_NODE], 1, name);
		r = run(head, ADD_NODE, NULL, 0, out, err);
		out[0] = sqlite3_last_insert_rowid(head->db);
	}
	if (r == 0 && out[0] > node_max) {
		r = error_set(err, -EDQUOT, "more than %lld nodes",
			(long long)node_max);
	}
	*id = out[0];
	return r;
}

/* -EDQUOT: the owner, a node or run, has `most` rows already. */
static int check_count(struct head *head, size_t which, int64_t owner,
	int64_t most, const char *what, struct error *err)
{
	int64_t out[2] = { 0 };
	int r = run(head, which, &owner, 1, out, err);

	return r == 0 && out[0] >= most
		? error_set(err, -EDQUOT, "more than %lld %s", (long long)most,
			  what)
		: r;
}

static int find_run(int64_t *id, struct head *head,
	const struct head_report *report, struct error *err)
{
	const int64_t in[] = { report->node };
	int64_t out[2] = { 0 };
	int r;

	(void)sqlite3_bind_blob(head->statements[FIND_RUN], 2, report->run_id,
		REPORT_RUN_ID_BYTES, SQLITE_STATIC);
	r = run(head, FIND_RUN, in, 1, out, err);
	if (r == 0 && out[0] != 0 &&
		(int64_t)report->stored_ms > out[1] + touch_every_ms) {
		r = run(head, TOUCH_RUN,
			(int64_t[]){ out[0], (int64_t)report->stored_ms }, 2,
			(int64_t[2]){ 0 }, err);
	}
	if (r == 0 && out[0] == 0) {
		r = check_count(head, COUNT_RUNS, report->node, HEAD_RUNS_MAX,
			"runs of one node", err);
	}
	if (r == 0 && out[0] == 0) {
		(void)sqlite3_bind_blob(head->statements[ADD_RUN], 2,
			report->run_id, REPORT_RUN_ID_BYTES, SQLITE_STATIC);
		(void)sqlite3_bind_int64(head->statements[ADD_RUN], 3,
			(int64_t)report->stored_ms);
		r = run(head, ADD_RUN, in, 1, out, err);
		out[0] = sqlite3_last_insert_rowid(head->db);
	}
	*id = out[0];
	return r;
}

/* The stored intervals around seq: the last one that begins at or before seq,
 * and the one that begins right after seq. An interval that does not exist
 * stays as it is. One query finds both if seq is the newest, as in most
 * cases. */
static int find_seqs(int64_t before[2], int64_t after[2], struct head *head,
	int64_t run_number, int64_t seq, struct error *err)
{
	int64_t found[2] = { before[0], before[1] };
	int r = run(head, FIND_SEQS, (int64_t[]){ run_number, seq + 1 }, 2,
		found, err);

	if (r == 0 && found[0] == seq + 1) {
		memcpy(after, found, sizeof(found));
		return run(head, FIND_SEQS, (int64_t[]){ run_number, seq }, 2,
			before, err);
	}
	memcpy(before, found, sizeof(found));
	return r;
}

/* Marks seq as stored. *is_new is false if seq was stored before. */
static int note_seq(bool *is_new, struct head *head, int64_t run_number,
	int64_t seq, struct error *err)
{
	int64_t before[2] = { 0, -1 };
	int64_t after[2] = { 0, -1 };
	int64_t first = seq, last = seq;
	int64_t none[2];
	int r = find_seqs(before, after, head, run_number, seq, err);

	*is_new = r == 0 && before[1] < seq;
	if (!*is_new) {
		return r;
	}
	if (after[0] == seq + 1) {
		last = after[1];
		r = run(head, DELETE_SEQS, (int64_t[]){ run_number, seq + 1 },
			2, none, err);
	}
	if (before[1] == seq - 1) {
		first = before[0];
	} else if (r == 0 && last == seq) {
		r = check_count(head, COUNT_SEQS, run_number, HEAD_SEQS_MAX,
			"gaps in the reports of one run", err);
	}
	if (r == 0) {
		r = run(head, first < seq ? EXTEND_SEQS : ADD_SEQS,
			(int64_t[]){ run_number, first, last }, 3, none, err);
	}
	return r;
}

static int check_time(const struct head_report *report, struct error *err)
{
	return report->sample_ms < sample_max_ms
		? 0
		: error_set(err, -ERANGE, "the clock is past the year 2109");
}

static int add_row(struct head *head, int64_t run_number,
	const struct head_report *report, struct error *err)
{
	int64_t first = head_id(report->sample_ms, report->node);
	int64_t end = head_next_node(first);
	int64_t out[2] = { 0 };
	int r = run(head, LAST_ID, (int64_t[]){ first, end }, 2, out, err);
	int64_t id = out[0] == 0 ? first : out[0] + 1;

	if (r == 0 && id == end) {
		r = error_set(err, -EDQUOT,
			"more than %d reports of one node in %d s",
			1 << HEAD_OWN_BITS, (1 << HEAD_SLOT_BITS) / 1000);
	}
	if (r == 0) {
		(void)sqlite3_bind_blob64(head->statements[ADD_REPORT], 6,
			report->body, report->len, SQLITE_STATIC);
		r = run(head, ADD_REPORT,
			(int64_t[]){ id, run_number, (int64_t)report->seq,
				(int64_t)report->sample_ms,
				(int64_t)report->stored_ms },
			5, out, err);
	}
	return r;
}

int head_put(struct head *head, int64_t run_number,
	const struct head_report *report, struct error *err)
{
	int r = check_time(report, err);

	return r == 0 ? add_row(head, run_number, report, err) : r;
}

char *head_node_name(struct sqlite3 *db, int64_t node)
{
	scoped_free char *sql = xasprintf(
		"SELECT name FROM node WHERE id = %lld", (long long)node);
	struct sqlite3_stmt *find = NULL;
	char *name = NULL;

	if (db_prepare(&find, db, sql, NULL) == 0 &&
		sqlite3_step(find) == SQLITE_ROW) {
		name = xstrdup((const char *)sqlite3_column_text(find, 0));
	}
	(void)sqlite3_finalize(find);
	return name == NULL ? xstrdup("") : name;
}

int head_add(struct head *head, const struct head_report *report,
	struct error *err)
{
	int64_t run_number;
	bool is_new = false;
	int r = check_time(report, err);

	r = r == 0 ? find_run(&run_number, head, report, err) : r;
	if (r == 0) {
		r = note_seq(&is_new, head, run_number, (int64_t)report->seq,
			err);
	}
	r = r == 0 && is_new ? add_row(head, run_number, report, err) : r;
	return r < 0 ? r : is_new;
}

int head_find_newest(uint64_t *sample_ms, struct sqlite3 *db, uint64_t wall_ms,
	struct error *err)
{
	scoped_free char *sql = xasprintf(
		"SELECT sample_ms FROM head WHERE id < %lld"
		" ORDER BY id DESC LIMIT 1",
		(long long)head_id(wall_ms + HEAD_SLOT_MS, 0));
	int64_t found = 0;
	int r = db_read_number(&found, db, sql, err);

	*sample_ms = (uint64_t)found < wall_ms ? (uint64_t)found : wall_ms;
	return r;
}

/* ---- deleting ---- */

/* Limits of a step that deletes. */
enum { DELETE_ROWS = 500, DELETE_BYTES = 2 << 20, DELETE_GROUPS = 16 };

/* Deletes the first rows with ids in [range[0], range[1]). */
static int delete_range(struct head_deleted *out, struct sqlite3 *db,
	const int64_t range[2], uint64_t most_bytes, struct error *err)
{
	struct sqlite3_stmt *find = NULL;
	int64_t last = 0;
	int r = db_prepare(&find, db,
		"SELECT id, length(body) FROM head WHERE id >= ? AND id < ?"
		" ORDER BY id",
		err);

	most_bytes = most_bytes < DELETE_BYTES ? most_bytes : DELETE_BYTES;
	*out = (struct head_deleted){ 0 };
	if (r == 0) {
		(void)sqlite3_bind_int64(find, 1, range[0]);
		(void)sqlite3_bind_int64(find, 2, range[1]);
	}
	while (out->rows < DELETE_ROWS && out->bytes < most_bytes &&
		db_step(&r, find, err)) {
		last = sqlite3_column_int64(find, 0);
		out->bytes +=
			db_row_bytes((size_t)sqlite3_column_int64(find, 1));
		if (out->rows++ == 0) {
			out->from_ms = head_slot_ms(last);
		}
	}
	(void)sqlite3_finalize(find);
	if (r == 0 && out->rows > 0) {
		scoped_free char *sql = xasprintf(
			"DELETE FROM head WHERE id >= %lld AND id <= %lld",
			(long long)range[0], (long long)last);

		r = db_exec(db, sql, err);
	}
	return r;
}

int head_delete_rows(struct head_deleted *out, struct sqlite3 *db,
	uint64_t end_ms, uint64_t most_bytes, struct error *err)
{
	int64_t end = end_ms == UINT64_MAX ? INT64_MAX : head_id(end_ms, 0);

	return delete_range(out, db, (int64_t[]){ 0, end }, most_bytes, err);
}

/* The first id of the node's oldest rows from id `at` on, from slot to slot; 0:
 * none. */
static int find_oldest_of(int64_t *first, struct sqlite3 *db, int64_t node,
	int64_t at, struct error *err)
{
	struct sqlite3_stmt *next = NULL;
	bool is_there = true;
	int r = db_prepare(&next, db,
		"SELECT id FROM head WHERE id >= ? ORDER BY id LIMIT 1", err);

	*first = 0;
	while (is_there && *first == 0) {
		(void)sqlite3_bind_int64(next, 1, at);
		is_there = db_step(&r, next, err);
		if (is_there) {
			int64_t id = sqlite3_column_int64(next, 0);
			int64_t in_slot = head_id(head_slot_ms(id), node);

			*first = head_node(id) == node ? id : 0;
			/* The node's rows of this slot, or the next slot. */
			at = id < in_slot
				? in_slot
				: head_id(head_slot_ms(id) + HEAD_SLOT_MS, 0);
		}
		(void)sqlite3_reset(next);
	}
	(void)sqlite3_finalize(next);
	return r;
}

int head_delete_rows_of_node(struct head_deleted *out, struct sqlite3 *db,
	int64_t node, uint64_t most_bytes, struct error *err)
{
	int64_t first = 0;
	int r = find_oldest_of(&first, db, node, 0, err);

	most_bytes = most_bytes < DELETE_BYTES ? most_bytes : DELETE_BYTES;
	*out = (struct head_deleted){ .from_ms = head_slot_ms(first) };
	for (int i = 0; r == 0 && first != 0 && i < DELETE_GROUPS &&
		out->rows < DELETE_ROWS && out->bytes < most_bytes;
		i++) {
		struct head_deleted some;

		r = delete_range(&some, db,
			(int64_t[]){ first, head_next_node(first) },
			most_bytes - out->bytes, err);
		out->rows += some.rows;
		out->bytes += some.bytes;
		r = r == 0 ? find_oldest_of(&first, db, node, first, err) : r;
	}
	return r;
}

int head_delete_runs(struct sqlite3 *db, uint64_t before_ms, struct error *err)
{
	scoped_free char *sql = xasprintf(
		"DELETE FROM seqs WHERE run IN"
		" (SELECT id FROM run WHERE last_ms < %lld);"
		"DELETE FROM run WHERE last_ms < %lld;",
		(long long)before_ms, (long long)before_ms);

	return db_exec(db, sql, err);
}
