#include "aggregator/store/compact.h"

#include "aggregator/codec/chunk.h"
#include "aggregator/store/partition.h"
#include "aggregator/store/head.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "proto/wire.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* What one step packs at most: about 25 ms of unpacking, columns and writing
 * for 1 MiB of reports as they come. */
enum { STEP_BYTES = 1 << 20, STEP_GROUPS = 2000 };

/* A chunk waits this part of the age longer, so that late ones are in it and
 * an hour is one chunk where it is not too large. */
enum { GRACE_PART = 12 };

struct compact {
	struct sqlite3 *db;
	struct sqlite3_stmt *next, *rows, *delete_row, *touch_run, *due;
	uint64_t age_ms;
	int64_t cursor; /* groups of slot and node before it were looked at */
	struct chunk_report *reports;
	int64_t *ids;
	size_t count;
};

static int prepare_all(struct compact *c, struct error *err)
{
	const struct {
		struct sqlite3_stmt **statement;
		const char *sql;
	} all[] = {
		{ &c->next,
			"SELECT id, sample_ms, stored_ms FROM tail"
			" WHERE id >= ? ORDER BY id LIMIT 1" },
		{ &c->rows,
			"SELECT tail.id, run_id, sample_ms, body FROM tail"
			" JOIN run ON run.id = tail.run"
			" WHERE tail.id >= ? AND tail.id < ?"
			" AND sample_ms >= ? AND sample_ms < ?"
			" ORDER BY sample_ms, tail.id" },
		{ &c->delete_row, "DELETE FROM tail WHERE id = ?" },
		{ &c->touch_run,
			"UPDATE run SET last_ms = max(last_ms, ?3)"
			" WHERE node = ?1 AND run_id = ?2" },
		{ &c->due,
			"INSERT OR IGNORE INTO rollup_due(node, hour)"
			" VALUES (?, ?)" },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < count_of(all); i++) {
		r = store_db_prepare(all[i].statement, c->db, all[i].sql, err);
	}
	return r;
}

int compact_new(struct compact **out, struct sqlite3 *db, uint64_t age_ms,
	struct error *err)
{
	struct compact *c = xcalloc(1, sizeof(*c));
	int r;

	c->db = db;
	c->age_ms = age_ms;
	c->reports = xcalloc(CHUNK_REPORTS_MAX, sizeof(*c->reports));
	c->ids = xcalloc(CHUNK_REPORTS_MAX, sizeof(*c->ids));
	r = prepare_all(c, err);
	if (r < 0) {
		compact_free(c);
		return r;
	}
	*out = c;
	return 0;
}

void compact_free(struct compact *c)
{
	if (c != NULL) {
		(void)sqlite3_finalize(c->next);
		(void)sqlite3_finalize(c->rows);
		(void)sqlite3_finalize(c->delete_row);
		(void)sqlite3_finalize(c->touch_run);
		(void)sqlite3_finalize(c->due);
		free(c->reports);
		free(c->ids);
		free(c);
	}
}

/* A group of a slot and a node: its first row. */
struct group {
	int64_t id;
	uint64_t sample_ms, stored_ms;
};

static int next_group(struct compact *c, bool *is_found, struct group *group,
	struct error *err)
{
	int step;
	int r = 0;

	(void)sqlite3_bind_int64(c->next, 1, c->cursor);
	step = sqlite3_step(c->next);
	*is_found = step == SQLITE_ROW;
	if (*is_found) {
		group->id = sqlite3_column_int64(c->next, 0);
		group->sample_ms = (uint64_t)sqlite3_column_int64(c->next, 1);
		group->stored_ms = (uint64_t)sqlite3_column_int64(c->next, 2);
	} else if (step != SQLITE_DONE) {
		r = store_db_error(c->db, err, "cannot read");
	}
	(void)sqlite3_reset(c->next);
	return r;
}

/* By when it came in: late ones wait for more of their hour. A clock that was
 * set back leaves rows from the future, which are not to wait for it. */
static bool is_due(const struct compact *c, const struct group *group,
	uint64_t now_ms)
{
	uint64_t waited_ms = now_ms > group->stored_ms
		? now_ms - group->stored_ms
		: group->stored_ms - now_ms;

	return waited_ms >= c->age_ms + c->age_ms / GRACE_PART;
}

/* *is_found: a group whose rows are due. It looks at some groups a step and
 * goes on behind them with the next. */
static int find_due(struct compact *c, bool *is_found, struct group *group,
	uint64_t now_ms, struct error *err)
{
	int r = 0;

	*is_found = false;
	for (int i = 0; r == 0 && !*is_found && i < STEP_GROUPS; i++) {
		bool is_there;

		r = next_group(c, &is_there, group, err);
		if (r < 0 || !is_there ||
			tail_slot_ms(group->id) + c->age_ms > now_ms) {
			c->cursor = 0;
			return r;
		}
		*is_found = is_due(c, group, now_ms);
		c->cursor = tail_next_node(group->id);
	}
	return r;
}

/* A row that is no report would be in the way for ever. */
static void take_row(struct compact *c, size_t *bytes, size_t *cells)
{
	struct chunk_report *out = &c->reports[c->count];
	size_t len = (size_t)sqlite3_column_bytes(c->rows, 3);
	struct error error;

	c->ids[c->count] = sqlite3_column_int64(c->rows, 0);
	*bytes += len;
	if (sqlite3_column_bytes(c->rows, 1) != REPORT_RUN_ID_BYTES ||
		wire_unpack_report(&out->report,
			sqlite3_column_blob(c->rows, 3), len, &error) < 0) {
		log_error("a stored report cannot be read and is left out",
			log_int("id", c->ids[c->count]), LOG_END);
		report_init(&out->report);
		out->sample_ms = UINT64_MAX;
	} else {
		memcpy(out->run_id, sqlite3_column_blob(c->rows, 1),
			REPORT_RUN_ID_BYTES);
		out->sample_ms = (uint64_t)sqlite3_column_int64(c->rows, 2);
		*cells += out->report.vm_count;
	}
	c->count++;
}

/* Rows of one slot, by time. *is_full: a step takes no more. */
static int take_slot(struct compact *c, bool *is_full, size_t taken[2],
	const struct group *group, const uint64_t range_ms[2],
	struct error *err)
{
	int64_t first = tail_id(range_ms[0], tail_node(group->id));
	uint64_t hour_ms = group->sample_ms / STORE_HOUR_MS * STORE_HOUR_MS;
	int step = SQLITE_DONE;
	int r = 0;

	(void)sqlite3_bind_int64(c->rows, 1, first);
	(void)sqlite3_bind_int64(c->rows, 2, tail_next_node(first));
	(void)sqlite3_bind_int64(c->rows, 3, (int64_t)hour_ms);
	(void)sqlite3_bind_int64(c->rows, 4, (int64_t)range_ms[1]);
	while (!*is_full && (step = sqlite3_step(c->rows)) == SQLITE_ROW) {
		take_row(c, &taken[0], &taken[1]);
		*is_full = taken[0] >= STEP_BYTES ||
			taken[1] + REPORT_VMS_MAX > CHUNK_CELLS_MAX ||
			c->count == CHUNK_REPORTS_MAX;
	}
	if (step != SQLITE_ROW && step != SQLITE_DONE) {
		r = store_db_error(c->db, err, "cannot read");
	}
	(void)sqlite3_reset(c->rows);
	return r;
}

/* The group's hour from its slot on, up to what is too young still. */
static int take_rows(struct compact *c, const struct group *group,
	uint64_t now_ms, struct error *err)
{
	const uint64_t slot_ms = UINT64_C(1) << TAIL_SLOT_BITS;
	uint64_t hour_ms = group->sample_ms / STORE_HOUR_MS * STORE_HOUR_MS;
	uint64_t young_ms = now_ms - c->age_ms / GRACE_PART;
	uint64_t end_ms = hour_ms + STORE_HOUR_MS;
	size_t taken[2] = { 0 };
	bool is_full = false;
	int r = 0;

	/* Of rows from the future none is young. */
	end_ms = group->sample_ms < young_ms && end_ms > young_ms ? young_ms
								  : end_ms;
	for (uint64_t at = tail_slot_ms(group->id);
		r == 0 && !is_full && at < end_ms; at += slot_ms) {
		r = take_slot(c, &is_full, taken, group,
			(uint64_t[]){ at, end_ms }, err);
	}
	return r;
}

/* Those that could be read, to the front. */
static size_t drop_unreadable(struct chunk_report *reports, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (reports[i].sample_ms != UINT64_MAX) {
			struct chunk_report report = reports[i];

			report_init(&reports[i].report);
			reports[kept] = report;
			kept++;
		}
	}
	return kept;
}

static int execute(struct compact *c, struct sqlite3_stmt *statement,
	struct error *err)
{
	int r = sqlite3_step(statement) == SQLITE_DONE
		? 0
		: store_db_error(c->db, err, "cannot write");

	(void)sqlite3_reset(statement);
	return r;
}

static int touch_run(struct compact *c, int64_t node,
	const struct chunk_report *last, struct error *err)
{
	(void)sqlite3_bind_int64(c->touch_run, 1, node);
	(void)sqlite3_bind_blob(c->touch_run, 2, last->run_id,
		REPORT_RUN_ID_BYTES, SQLITE_STATIC);
	(void)sqlite3_bind_int64(c->touch_run, 3, (int64_t)last->sample_ms);
	return execute(c, c->touch_run, err);
}

static int add_chunk(struct compact *c, int64_t node, struct error *err)
{
	scoped_buffer struct buffer body = BUFFER_MAX(CHUNK_BYTES_MAX);
	size_t count = drop_unreadable(c->reports, c->count);
	struct part_blob blob = { .node = node };
	int r = 0;

	if (count == 0) {
		return 0;
	}
	chunk_write(&body, c->reports, count);
	blob.from_ms = c->reports[0].sample_ms;
	blob.to_ms = c->reports[count - 1].sample_ms;
	blob.body = body.data;
	blob.len = body.len;
	r = part_add(c->db, STORE_RAW, &blob, err);
	for (size_t i = 0; r == 0 && i < count; i++) {
		bool is_last = i + 1 == count ||
			memcmp(c->reports[i].run_id, c->reports[i + 1].run_id,
				REPORT_RUN_ID_BYTES) != 0;

		r = is_last ? touch_run(c, node, &c->reports[i], err) : 0;
	}
	if (r == 0) {
		(void)sqlite3_bind_int64(c->due, 1, node);
		(void)sqlite3_bind_int64(c->due, 2,
			(int64_t)(blob.from_ms / STORE_HOUR_MS));
		r = execute(c, c->due, err);
	}
	return r;
}

static int delete_rows(struct compact *c, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->count; i++) {
		(void)sqlite3_bind_int64(c->delete_row, 1, c->ids[i]);
		r = execute(c, c->delete_row, err);
	}
	return r;
}

static int pack(struct compact *c, const struct group *group, uint64_t now_ms,
	struct error *err)
{
	int r = take_rows(c, group, now_ms, err);

	/* Before the chunk is made: that shifts the reports. */
	if (r == 0) {
		r = delete_rows(c, err);
	}
	if (r == 0) {
		r = add_chunk(c, tail_node(group->id), err);
	}
	for (size_t i = 0; i < c->count; i++) {
		report_fini(&c->reports[i].report);
	}
	c->count = 0;
	return r;
}

int compact_step(struct compact *c, bool *is_idle, uint64_t now_ms,
	struct error *err)
{
	struct group group = { 0 };
	bool is_found;
	int r = find_due(c, &is_found, &group, now_ms, err);

	*is_idle = r == 0 && !is_found && c->cursor == 0;
	if (r < 0 || !is_found) {
		return r;
	}
	/* There may be more of it: the hour's next part, another hour. */
	c->cursor = group.id;
	r = store_db_exec(c->db, "BEGIN IMMEDIATE", err);
	if (r == 0) {
		r = pack(c, &group, now_ms, err);
	}
	if (r == 0) {
		r = store_db_exec(c->db, "COMMIT", err);
	}
	if (r < 0) {
		store_db_rollback(c->db);
	}
	return r;
}
