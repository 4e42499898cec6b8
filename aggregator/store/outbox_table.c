#include "aggregator/store/outbox_table.h"

#include "lib/memory.h"
#include "proto/wire.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

/* Each row knows how many bytes were put in up to its end, so that what lies
 * between any two is known without reading it. Ids have no gaps. */
static const char schema[] =
	"CREATE TABLE IF NOT EXISTS outbox(id INTEGER PRIMARY KEY,"
	" node INTEGER NOT NULL, sample_ms INTEGER NOT NULL,"
	" stored_ms INTEGER NOT NULL, end_bytes INTEGER NOT NULL,"
	" body BLOB NOT NULL)";

/* Beside its body, roughly: the row's other columns and its share of pages. */
enum { ROW_BYTES = 40 };

/* A smaller limit than the last time makes a lot to delete, not all in one
 * transaction. */
enum { DROPS_MAX = 1000 };

/* What is in the table. */
struct extent {
	uint64_t first, next;		 /* ids */
	uint64_t begin_bytes, end_bytes; /* of all that was ever put in */
	uint64_t dropped;
};

struct outbox {
	struct sqlite3 *db;
	struct sqlite3_stmt *add, *drop, *look;
	uint64_t bytes_max;
	struct extent now, committed;
};

static int read_extent(struct outbox *outbox, struct error *err)
{
	struct sqlite3_stmt *find = NULL;
	int r = store_db_prepare(&find, outbox->db,
		"SELECT a.id, a.end_bytes - length(a.body) - ?1,"
		" b.id + 1, b.end_bytes FROM outbox a, outbox b"
		" WHERE a.id = (SELECT min(id) FROM outbox)"
		" AND b.id = (SELECT max(id) FROM outbox)",
		err);
	int step;

	if (r < 0) {
		return r;
	}
	(void)sqlite3_bind_int(find, 1, ROW_BYTES);
	step = sqlite3_step(find);
	outbox->now = (struct extent){ .first = 1, .next = 1 };
	if (step == SQLITE_ROW) {
		outbox->now = (struct extent){
			.first = (uint64_t)sqlite3_column_int64(find, 0),
			.begin_bytes = (uint64_t)sqlite3_column_int64(find, 1),
			.next = (uint64_t)sqlite3_column_int64(find, 2),
			.end_bytes = (uint64_t)sqlite3_column_int64(find, 3),
		};
	} else if (step != SQLITE_DONE) {
		r = store_db_error(outbox->db, err, "cannot read");
	}
	(void)sqlite3_finalize(find);
	outbox->committed = outbox->now;
	return r;
}

int outbox_new(struct outbox **out, struct sqlite3 *db, uint64_t bytes_max,
	struct error *err)
{
	struct outbox *outbox = xcalloc(1, sizeof(*outbox));
	int r = store_db_exec(db, schema, err);

	outbox->db = db;
	outbox->bytes_max = bytes_max;
	if (r == 0) {
		r = store_db_prepare(&outbox->add, db,
			"INSERT INTO outbox(id, node, sample_ms, stored_ms,"
			" end_bytes, body) VALUES (?, ?, ?, ?, ?, ?)",
			err);
	}
	if (r == 0) {
		r = store_db_prepare(&outbox->drop, db,
			"DELETE FROM outbox WHERE id < ?", err);
	}
	if (r == 0) {
		r = store_db_prepare(&outbox->look, db,
			"SELECT end_bytes FROM outbox WHERE id >= ?"
			" ORDER BY id LIMIT 1",
			err);
	}
	if (r == 0) {
		r = read_extent(outbox, err);
	}
	if (r < 0) {
		outbox_free(outbox);
		return r;
	}
	*out = outbox;
	return 0;
}

void outbox_free(struct outbox *outbox)
{
	if (outbox != NULL) {
		(void)sqlite3_finalize(outbox->add);
		(void)sqlite3_finalize(outbox->drop);
		(void)sqlite3_finalize(outbox->look);
		free(outbox);
	}
}

static int run(struct outbox *outbox, struct sqlite3_stmt *statement,
	struct error *err)
{
	int r = sqlite3_step(statement) == SQLITE_DONE
		? 0
		: store_db_error(outbox->db, err, "cannot write");

	(void)sqlite3_reset(statement);
	(void)sqlite3_clear_bindings(statement);
	return r;
}

/* Where the bytes of a row end. */
static int look(struct outbox *outbox, uint64_t *end_bytes, uint64_t id,
	struct error *err)
{
	struct sqlite3_stmt *statement = outbox->look;
	int r = 0;
	int step;

	(void)sqlite3_bind_int64(statement, 1, (int64_t)id);
	step = sqlite3_step(statement);
	if (step == SQLITE_ROW) {
		*end_bytes = (uint64_t)sqlite3_column_int64(statement, 0);
	} else if (step != SQLITE_DONE) {
		r = store_db_error(outbox->db, err, "cannot read");
	}
	(void)sqlite3_reset(statement);
	return r;
}

/* Deletes the rows before first, which begins where begin_bytes says. */
static int begin_at(struct outbox *outbox, uint64_t first, uint64_t begin_bytes,
	struct error *err)
{
	int r;

	if (first <= outbox->now.first) {
		return 0;
	}
	(void)sqlite3_bind_int64(outbox->drop, 1, (int64_t)first);
	r = run(outbox, outbox->drop, err);
	if (r == 0) {
		outbox->now.first = first;
		outbox->now.begin_bytes = begin_bytes;
	}
	return r;
}

static int make_room(struct outbox *outbox, struct error *err)
{
	const struct extent *now = &outbox->now;
	uint64_t first = now->first;
	uint64_t begin_bytes = now->begin_bytes;
	uint64_t dropped;
	int r = 0;

	while (r == 0 && first < now->next && first - now->first < DROPS_MAX &&
		now->end_bytes - begin_bytes > outbox->bytes_max) {
		r = look(outbox, &begin_bytes, first, err);
		first++;
	}
	dropped = first - now->first;
	if (r == 0) {
		r = begin_at(outbox, first, begin_bytes, err);
	}
	if (r == 0) {
		outbox->now.dropped += dropped;
	}
	return r;
}

int outbox_add(struct outbox *outbox, const struct tail_report *report,
	struct error *err)
{
	struct extent *now = &outbox->now;
	uint64_t end_bytes = now->end_bytes + report->len + ROW_BYTES;
	int r;

	if (outbox->bytes_max == 0) {
		return 0;
	}
	(void)sqlite3_bind_int64(outbox->add, 1, (int64_t)now->next);
	(void)sqlite3_bind_int64(outbox->add, 2, report->node);
	(void)sqlite3_bind_int64(outbox->add, 3, (int64_t)report->sample_ms);
	(void)sqlite3_bind_int64(outbox->add, 4, (int64_t)report->stored_ms);
	(void)sqlite3_bind_int64(outbox->add, 5, (int64_t)end_bytes);
	(void)sqlite3_bind_blob64(outbox->add, 6, report->body, report->len,
		SQLITE_STATIC);
	r = run(outbox, outbox->add, err);
	if (r < 0) {
		return r;
	}
	now->next++;
	now->end_bytes = end_bytes;
	return make_room(outbox, err);
}

int outbox_forget(struct outbox *outbox, uint64_t id, struct error *err)
{
	uint64_t begin_bytes = 0;
	int r = 0;

	if (id < outbox->now.first || id >= outbox->now.next) {
		return 0; /* it gave way meanwhile */
	}
	r = look(outbox, &begin_bytes, id, err);
	return r < 0 ? r : begin_at(outbox, id + 1, begin_bytes, err);
}

void outbox_committed(struct outbox *outbox)
{
	outbox->committed = outbox->now;
}

void outbox_rolled_back(struct outbox *outbox)
{
	outbox->now = outbox->committed;
}

struct store_outbox_counts outbox_counts(const struct outbox *outbox)
{
	const struct extent *at = &outbox->committed;

	return (struct store_outbox_counts){
		.reports = at->next - at->first,
		.bytes = at->end_bytes - at->begin_bytes,
		.dropped = at->dropped,
	};
}

/* ---- reading ---- */

struct store_names {
	struct sqlite3_stmt *find;
};

bool store_names_find(struct store_name *out, const struct store_names *names,
	const char *pod_uid)
{
	bool is_found;

	(void)sqlite3_bind_text(names->find, 1, pod_uid, -1, SQLITE_STATIC);
	is_found = sqlite3_step(names->find) == SQLITE_ROW;
	if (is_found) {
		(void)snprintf(out->namespace, sizeof(out->namespace), "%s",
			(const char *)sqlite3_column_text(names->find, 0));
		(void)snprintf(out->name, sizeof(out->name), "%s",
			(const char *)sqlite3_column_text(names->find, 1));
	}
	(void)sqlite3_reset(names->find);
	return is_found;
}

/* False: no more is wanted. */
static bool give(struct sqlite3_stmt *rows,
	const struct store_outbox_read *read)
{
	struct report report;
	struct store_outbox_row row = {
		.id = (uint64_t)sqlite3_column_int64(rows, 0),
		.node = (const char *)sqlite3_column_text(rows, 1),
		.sample_ms = (uint64_t)sqlite3_column_int64(rows, 2),
		.stored_ms = (uint64_t)sqlite3_column_int64(rows, 3),
	};
	bool more;

	report_init(&report);
	if (wire_unpack_report(&report, sqlite3_column_blob(rows, 4),
		    (size_t)sqlite3_column_bytes(rows, 4), NULL) == 0) {
		row.report = &report;
	}
	more = read->row(read->owner, &row);
	report_fini(&report);
	return more;
}

static int read_rows(struct sqlite3 *db, const struct store_outbox_read *read,
	struct error *err)
{
	struct sqlite3_stmt *rows = NULL;
	int step = SQLITE_DONE;
	int r = store_db_prepare(&rows, db,
		"SELECT outbox.id, name, sample_ms, stored_ms, body FROM outbox"
		" JOIN node ON node.id = outbox.node WHERE outbox.id > ?"
		" ORDER BY outbox.id LIMIT ?",
		err);

	if (r < 0) {
		return r;
	}
	(void)sqlite3_bind_int64(rows, 1, (int64_t)read->after);
	(void)sqlite3_bind_int64(rows, 2, (int64_t)read->most);
	while ((step = sqlite3_step(rows)) == SQLITE_ROW && give(rows, read)) {
	}
	if (step != SQLITE_DONE && step != SQLITE_ROW) {
		r = store_db_error(db, err, "cannot read what waits");
	}
	(void)sqlite3_finalize(rows);
	return r;
}

int outbox_read(struct sqlite3 *db, const struct store_outbox_read *read,
	struct error *err)
{
	struct store_names names = { 0 };
	int r = store_db_exec(db, "BEGIN", err);

	if (r == 0) {
		r = store_db_prepare(&names.find, db,
			"SELECT namespace, name FROM identity"
			" WHERE pod_uid = ?",
			err);
	}
	if (r == 0) {
		r = read_rows(db, read, err);
	}
	if (r == 0) {
		read->end(read->owner, &names);
	}
	(void)sqlite3_finalize(names.find);
	store_db_rollback(db);
	return r;
}
