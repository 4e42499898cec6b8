#include "aggregator/store/head.h"

#include "aggregator/store/outbox_table.h"
#include "lib/memory.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum {
	NODE_SHIFT = TAIL_OWN_BITS,
	SLOT_SHIFT = TAIL_OWN_BITS + TAIL_NODE_BITS
};

/* Slots have 25 bits: that is the year 2109. */
static const uint64_t sample_max_ms = UINT64_C(1) << (25 + TAIL_SLOT_BITS);
static const int64_t node_max = (INT64_C(1) << TAIL_NODE_BITS) - 2;

enum {
	FIND_NODE,
	ADD_NODE,
	FIND_RUN,
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
	[FIND_RUN] = "SELECT id FROM run WHERE node = ? AND run_id = ?",
	[ADD_RUN] = "INSERT INTO run(node, run_id, last_ms) VALUES (?, ?, ?)",
	[FIND_SEQS] =
		"SELECT first, last FROM seqs WHERE run = ?"
		" AND first <= ? ORDER BY first DESC LIMIT 1",
	[ADD_SEQS] = "INSERT INTO seqs(run, first, last) VALUES (?, ?, ?)",
	[EXTEND_SEQS] =
		"UPDATE seqs SET last = ?3 WHERE run = ?1"
		" AND first = ?2",
	[DELETE_SEQS] = "DELETE FROM seqs WHERE run = ? AND first = ?",
	[LAST_ID] = "SELECT max(id) FROM tail WHERE id >= ? AND id < ?",
	[ADD_REPORT] =
		"INSERT INTO tail(id, run, seq, sample_ms, stored_ms,"
		" body) VALUES (?, ?, ?, ?, ?, ?)",
};

struct tail {
	struct sqlite3 *db;
	struct sqlite3_stmt *statements[STATEMENTS];
	struct outbox *outbox; /* NULL: nothing is forwarded */
};

int64_t tail_id(uint64_t sample_ms, int64_t node)
{
	return (int64_t)(sample_ms >> TAIL_SLOT_BITS) << SLOT_SHIFT |
		node << NODE_SHIFT;
}

int64_t tail_next_node(int64_t id)
{
	return ((id >> NODE_SHIFT) + 1) << NODE_SHIFT;
}

int64_t tail_node(int64_t id)
{
	return id >> NODE_SHIFT & ((INT64_C(1) << TAIL_NODE_BITS) - 1);
}

uint64_t tail_slot_ms(int64_t id)
{
	return (uint64_t)(id >> SLOT_SHIFT) << TAIL_SLOT_BITS;
}

int tail_new(struct tail **out, struct sqlite3 *db, struct error *err)
{
	struct tail *tail = xcalloc(1, sizeof(*tail));
	int r = 0;

	tail->db = db;
	for (size_t i = 0; r == 0 && i < STATEMENTS; i++) {
		r = store_db_prepare(&tail->statements[i], db, sqls[i], err);
	}
	if (r < 0) {
		tail_free(tail);
		return r;
	}
	*out = tail;
	return 0;
}

void tail_free(struct tail *tail)
{
	if (tail != NULL) {
		for (size_t i = 0; i < STATEMENTS; i++) {
			(void)sqlite3_finalize(tail->statements[i]);
		}
		free(tail);
	}
}

void tail_forward(struct tail *tail, struct outbox *outbox)
{
	tail->outbox = outbox;
}

/* Binds integers from the first on, runs, and gives up to two integers of the
 * first row; out stays as it is if there is none. */
static int run(struct tail *tail, size_t which, const int64_t *in, int count,
	int64_t out[2], struct error *err)
{
	struct sqlite3_stmt *statement = tail->statements[which];
	int r = 0;
	int step;

	for (int i = 0; i < count; i++) {
		(void)sqlite3_bind_int64(statement, i + 1, in[i]);
	}
	step = sqlite3_step(statement);
	if (step == SQLITE_ROW) {
		out[0] = sqlite3_column_int64(statement, 0);
		out[1] = sqlite3_column_int64(statement, 1);
	} else if (step != SQLITE_DONE) {
		r = store_db_error(tail->db, err, "cannot write");
	}
	(void)sqlite3_reset(statement);
	(void)sqlite3_clear_bindings(statement);
	return r;
}

int tail_find_node(int64_t *id, struct tail *tail, const char *name,
	struct error *err)
{
	int64_t out[2] = { 0 };
	int r;

	(void)sqlite3_bind_text(tail->statements[FIND_NODE], 1, name, -1,
		SQLITE_STATIC);
	r = run(tail, FIND_NODE, NULL, 0, out, err);
	if (r == 0 && out[0] == 0) {
		(void)sqlite3_bind_text(tail->statements[ADD_NODE], 1, name, -1,
			SQLITE_STATIC);
		r = run(tail, ADD_NODE, NULL, 0, out, err);
		out[0] = sqlite3_last_insert_rowid(tail->db);
	}
	if (r == 0 && out[0] > node_max) {
		r = error_set(err, -ENOSPC, "more than %lld nodes",
			(long long)node_max);
	}
	*id = out[0];
	return r;
}

static int find_run(int64_t *id, struct tail *tail,
	const struct tail_report *report, struct error *err)
{
	const int64_t in[] = { report->node };
	int64_t out[2] = { 0 };
	int r;

	(void)sqlite3_bind_blob(tail->statements[FIND_RUN], 2, report->run_id,
		REPORT_RUN_ID_BYTES, SQLITE_STATIC);
	r = run(tail, FIND_RUN, in, 1, out, err);
	if (r == 0 && out[0] == 0) {
		(void)sqlite3_bind_blob(tail->statements[ADD_RUN], 2,
			report->run_id, REPORT_RUN_ID_BYTES, SQLITE_STATIC);
		(void)sqlite3_bind_int64(tail->statements[ADD_RUN], 3,
			(int64_t)report->stored_ms);
		r = run(tail, ADD_RUN, in, 1, out, err);
		out[0] = sqlite3_last_insert_rowid(tail->db);
	}
	*id = out[0];
	return r;
}

/* The stored intervals around seq: the last one that begins at seq or before,
 * and the one that begins right after it. One look finds both where seq is the
 * newest, as it nearly always is. Those that are not there stay as they are. */
static int find_seqs(int64_t before[2], int64_t after[2], struct tail *tail,
	int64_t run_number, int64_t seq, struct error *err)
{
	int64_t found[2] = { before[0], before[1] };
	int r = run(tail, FIND_SEQS, (int64_t[]){ run_number, seq + 1 }, 2,
		found, err);

	if (r == 0 && found[0] == seq + 1) {
		memcpy(after, found, sizeof(found));
		return run(tail, FIND_SEQS, (int64_t[]){ run_number, seq }, 2,
			before, err);
	}
	memcpy(before, found, sizeof(found));
	return r;
}

/* Notes that seq is stored; *is_new is false if it was already. */
static int note_seq(bool *is_new, struct tail *tail, int64_t run_number,
	int64_t seq, struct error *err)
{
	int64_t before[2] = { 0, -1 };
	int64_t after[2] = { 0, -1 };
	int64_t first = seq, last = seq;
	int64_t none[2];
	int r = find_seqs(before, after, tail, run_number, seq, err);

	*is_new = r == 0 && before[1] < seq;
	if (!*is_new) {
		return r;
	}
	if (after[0] == seq + 1) {
		last = after[1];
		r = run(tail, DELETE_SEQS, (int64_t[]){ run_number, seq + 1 },
			2, none, err);
	}
	if (before[1] == seq - 1) {
		first = before[0];
	}
	if (r == 0) {
		r = run(tail, first < seq ? EXTEND_SEQS : ADD_SEQS,
			(int64_t[]){ run_number, first, last }, 3, none, err);
	}
	return r;
}

static int add_row(struct tail *tail, int64_t run_number,
	const struct tail_report *report, struct error *err)
{
	int64_t first = tail_id(report->sample_ms, report->node);
	int64_t end = tail_next_node(first);
	int64_t out[2] = { 0 };
	int r = run(tail, LAST_ID, (int64_t[]){ first, end }, 2, out, err);
	int64_t id = out[0] == 0 ? first : out[0] + 1;

	if (r == 0 && id == end) {
		r = error_set(err, -ENOSPC,
			"more than %d reports of one node in %d s",
			1 << TAIL_OWN_BITS, (1 << TAIL_SLOT_BITS) / 1000);
	}
	if (r == 0) {
		(void)sqlite3_bind_blob64(tail->statements[ADD_REPORT], 6,
			report->body, report->len, SQLITE_STATIC);
		r = run(tail, ADD_REPORT,
			(int64_t[]){ id, run_number, (int64_t)report->seq,
				(int64_t)report->sample_ms,
				(int64_t)report->stored_ms },
			5, out, err);
	}
	return r;
}

int tail_add(struct tail *tail, const struct tail_report *report,
	struct error *err)
{
	int64_t run_number;
	bool is_new = false;
	int r;

	if (report->sample_ms >= sample_max_ms) {
		return error_set(err, -ERANGE,
			"the clock is beyond the year 2109");
	}
	r = find_run(&run_number, tail, report, err);
	if (r == 0) {
		r = note_seq(&is_new, tail, run_number, (int64_t)report->seq,
			err);
	}
	if (r == 0 && is_new) {
		r = add_row(tail, run_number, report, err);
	}
	if (r == 0 && is_new && tail->outbox != NULL) {
		r = outbox_add(tail->outbox, report, err);
	}
	return r;
}

int tail_forget_runs(struct sqlite3 *db, uint64_t before_ms, struct error *err)
{
	scoped_free char *sql = xasprintf(
		"DELETE FROM seqs WHERE run IN"
		" (SELECT id FROM run WHERE last_ms < %lld);"
		"DELETE FROM run WHERE last_ms < %lld;",
		(long long)before_ms, (long long)before_ms);

	return store_db_exec(db, sql, err);
}
