#include "aggregator/store/compact.h"

#include "aggregator/codec/chunk.h"
#include "aggregator/store/head.h"
#include "aggregator/store/partition.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "proto/wire.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* Limits of one chunk. A pod of a real node has 100 bytes in a report, so
 * 10,000 are in 1 MiB. Pods that have a uid and nothing else are more; their
 * number is limited, too, because each takes half a kilobyte while a chunk is
 * written or read. */
enum { CHUNK_ROWS_BYTES = 1 << 20, CHUNK_CELLS = 1 << 15 };

/* Limits of one step. It ends behind the chunk with which it has STEP_BYTES;
 * to unpack so many, make columns and write them takes about 30 ms. A chunk
 * takes nearly a millisecond, however few reports it has. Rows of nodes that
 * follow one another are on neighbouring pages, and to delete a row rewrites
 * those before and after it, so packing several nodes together writes far less
 * than packing each alone. */
enum { STEP_BYTES = 3 << 19, STEP_CHUNKS = 16, STEP_GROUPS = 2000 };

/* Rows wait 1/12 of the age longer, so that a chunk contains late reports and
 * an hour is one chunk unless it is too large. */
enum { GRACE_DIVISOR = 12 };

struct compact {
	struct sqlite3 *db;
	struct sqlite3_stmt *next, *rows, *delete_row, *touch_run, *due;
	uint64_t age_ms;
	int64_t cursor; /* groups of slot and node before this are not due */
	struct chunk_report *reports;
	int64_t *ids;
	size_t count;
};

static int prepare_all(struct compact *c, struct error *err)
{
	const struct db_statement all[] = {
		{ &c->next,
			"SELECT id, sample_ms, stored_ms FROM head"
			" WHERE id >= ? ORDER BY id LIMIT 1" },
		{ &c->rows,
			"SELECT head.id, run_id, sample_ms, body FROM head"
			" JOIN run ON run.id = head.run"
			" WHERE head.id >= ? AND head.id < ?"
			" AND sample_ms >= ? AND sample_ms < ?"
			" ORDER BY sample_ms, head.id" },
		{ &c->delete_row, "DELETE FROM head WHERE id = ?" },
		{ &c->touch_run,
			"UPDATE run SET last_ms = max(last_ms, ?3)"
			" WHERE node = ?1 AND run_id = ?2" },
		{ &c->due,
			"INSERT OR IGNORE INTO rollup_due(node, hour)"
			" VALUES (?, ?)" },
	};

	return db_prepare_all(c->db, all, count_of(all), err);
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

/* The rows of a slot and node, by the first one. */
struct group {
	int64_t id;
	uint64_t sample_ms, stored_ms;
};

static int next_group(struct compact *c, bool *is_found, struct group *group,
	struct error *err)
{
	int r = 0;

	(void)sqlite3_bind_int64(c->next, 1, c->cursor);
	*is_found = db_step(&r, c->next, err);
	if (*is_found) {
		group->id = sqlite3_column_int64(c->next, 0);
		group->sample_ms = (uint64_t)sqlite3_column_int64(c->next, 1);
		group->stored_ms = (uint64_t)sqlite3_column_int64(c->next, 2);
	}
	(void)sqlite3_reset(c->next);
	return r;
}

static uint64_t due_age_ms(const struct compact *c)
{
	return c->age_ms + c->age_ms / GRACE_DIVISOR;
}

/* Counts from when the report was stored, so late reports wait for more of
 * their hour. After the clock was set back, rows from the future must not wait
 * for that time to come. */
static bool is_due(const struct compact *c, const struct group *group,
	uint64_t now_ms)
{
	uint64_t waited_ms = now_ms > group->stored_ms
		? now_ms - group->stored_ms
		: group->stored_ms - now_ms;

	return waited_ms >= due_age_ms(c);
}

/* *is_found: the rows of the group are due. Rows are in the order of time:
 * those from the future, which are due at once, come after those that are too
 * young. Checks *left groups at most, which it counts down; the next call
 * continues behind them. */
static int find_due(struct compact *c, bool *is_found, struct group *group,
	size_t *left, uint64_t now_ms, struct error *err)
{
	int r = 0;

	*is_found = false;
	for (; r == 0 && !*is_found && *left > 0; (*left)--) {
		uint64_t slot_ms;
		bool is_there;

		r = next_group(c, &is_there, group, err);
		if (r < 0 || !is_there) {
			c->cursor = 0;
			return r;
		}
		slot_ms = head_slot_ms(group->id);
		if (slot_ms <= now_ms && slot_ms + due_age_ms(c) > now_ms) {
			c->cursor = head_id(now_ms + HEAD_SLOT_MS, 0);
			continue;
		}
		*is_found = slot_ms > now_ms || is_due(c, group, now_ms);
		c->cursor = head_next_node(group->id);
	}
	return r;
}

/* A row that cannot be read is added, too, so that it is deleted. */
static void add_row(struct compact *c, size_t *bytes, size_t *cells)
{
	struct chunk_report *out = &c->reports[c->count];
	size_t len = (size_t)sqlite3_column_bytes(c->rows, 3);
	struct error error;

	c->ids[c->count] = sqlite3_column_int64(c->rows, 0);
	*bytes += len;
	if (sqlite3_column_bytes(c->rows, 1) != REPORT_RUN_ID_BYTES ||
		wire_unpack_report(&out->report,
			sqlite3_column_blob(c->rows, 3), len, &error) < 0) {
		log_error("cannot read a stored report, dropping it",
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

/* Adds the rows of one slot by time. taken counts bytes and cells. *is_full:
 * the chunk is at a limit. */
static int add_slot(struct compact *c, bool *is_full, size_t taken[2],
	const struct group *group, const uint64_t range_ms[2],
	struct error *err)
{
	int64_t first = head_id(range_ms[0], head_node(group->id));
	int r = 0;

	(void)sqlite3_bind_int64(c->rows, 1, first);
	(void)sqlite3_bind_int64(c->rows, 2, head_next_node(first));
	(void)sqlite3_bind_int64(c->rows, 3,
		(int64_t)partition_hour(group->sample_ms));
	(void)sqlite3_bind_int64(c->rows, 4, (int64_t)range_ms[1]);
	while (!*is_full && db_step(&r, c->rows, err)) {
		add_row(c, &taken[0], &taken[1]);
		*is_full = taken[0] >= CHUNK_ROWS_BYTES ||
			taken[1] + REPORT_VMS_MAX > CHUNK_CELLS ||
			c->count == CHUNK_REPORTS_MAX;
	}
	(void)sqlite3_reset(c->rows);
	return r;
}

/* Adds the rows of the group's hour, from its slot on, that are old enough.
 * *bytes: how many they have. */
static int add_rows(struct compact *c, size_t *bytes, const struct group *group,
	uint64_t now_ms, struct error *err)
{
	uint64_t young_ms = now_ms - c->age_ms / GRACE_DIVISOR;
	uint64_t end_ms = partition_hour(group->sample_ms) + PARTITION_HOUR_MS;
	size_t taken[2] = { 0 };
	bool is_full = false;
	int r = 0;

	/* Rows from the future are old enough. */
	end_ms = group->sample_ms < young_ms && end_ms > young_ms ? young_ms
								  : end_ms;
	for (uint64_t at = head_slot_ms(group->id);
		r == 0 && !is_full && at < end_ms; at += HEAD_SLOT_MS) {
		r = add_slot(c, &is_full, taken, group,
			(uint64_t[]){ at, end_ms }, err);
	}
	*bytes = taken[0];
	return r;
}

/* Moves the readable reports to the front. */
static size_t drop_unreadable(struct chunk_report *reports, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (reports[i].sample_ms != UINT64_MAX) {
			struct chunk_report report = reports[i];

			report_init(&reports[i].report);
			reports[kept++] = report;
		}
	}
	return kept;
}

static int touch_run(struct compact *c, int64_t node,
	const struct chunk_report *last, struct error *err)
{
	(void)sqlite3_bind_int64(c->touch_run, 1, node);
	(void)sqlite3_bind_blob(c->touch_run, 2, last->run_id,
		REPORT_RUN_ID_BYTES, SQLITE_STATIC);
	(void)sqlite3_bind_int64(c->touch_run, 3, (int64_t)last->sample_ms);
	return db_run(c->touch_run, err);
}

static int add_chunk(struct compact *c, int64_t node, struct error *err)
{
	scoped_buffer struct buffer body = BUFFER_MAX(CHUNK_BYTES_MAX);
	size_t count = drop_unreadable(c->reports, c->count);
	struct partition_blob blob = { .node = node };
	int r = 0;

	if (count == 0) {
		return 0;
	}
	r = chunk_write(&body, c->reports, count, err);
	blob.from_ms = c->reports[0].sample_ms;
	blob.to_ms = c->reports[count - 1].sample_ms;
	blob.body = body.data;
	blob.len = body.len;
	r = r == 0 ? partition_add(c->db, STORE_RAW, &blob, err) : r;
	for (size_t i = 0; r == 0 && i < count; i++) {
		bool is_last = i + 1 == count ||
			memcmp(c->reports[i].run_id, c->reports[i + 1].run_id,
				REPORT_RUN_ID_BYTES) != 0;

		r = is_last ? touch_run(c, node, &c->reports[i], err) : 0;
	}
	if (r == 0) {
		(void)sqlite3_bind_int64(c->due, 1, node);
		(void)sqlite3_bind_int64(c->due, 2,
			(int64_t)(blob.from_ms / PARTITION_HOUR_MS));
		r = db_run(c->due, err);
	}
	return r;
}

static int delete_rows(struct compact *c, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->count; i++) {
		(void)sqlite3_bind_int64(c->delete_row, 1, c->ids[i]);
		r = db_run(c->delete_row, err);
	}
	return r;
}

/* *bytes: how many the reports had. */
static int pack(struct compact *c, size_t *bytes, const struct group *group,
	uint64_t now_ms, struct error *err)
{
	int r = add_rows(c, bytes, group, now_ms, err);

	/* Before the chunk is made, which shifts the reports. */
	r = r == 0 ? delete_rows(c, err) : r;
	r = r == 0 ? add_chunk(c, head_node(group->id), err) : r;
	/* The group may have more rows: of this hour or of another one. Rows
	 * without a run must not hold up those behind them. */
	c->cursor = c->count == 0 ? head_next_node(group->id) : group->id;
	for (size_t i = 0; i < c->count; i++) {
		report_fini(&c->reports[i].report);
	}
	c->count = 0;
	return r;
}

/* Packs the group and those behind it that are due, up to a limit. *is_found:
 * there may be more. */
static int pack_from(struct compact *c, bool *is_found,
	const struct group *first, size_t *left, uint64_t now_ms,
	struct error *err)
{
	struct group group = *first;
	size_t bytes = 0;
	int r = 0;

	for (int i = 0;
		r == 0 && *is_found && i < STEP_CHUNKS && bytes < STEP_BYTES;
		i++) {
		size_t packed = 0;

		r = pack(c, &packed, &group, now_ms, err);
		bytes += packed;
		r = r == 0 ? find_due(c, is_found, &group, left, now_ms, err)
			   : r;
	}
	if (r == 0 && *is_found) {
		c->cursor = group.id; /* the next step begins with it */
	}
	return r;
}

int compact_step(struct compact *c, bool *is_idle, uint64_t now_ms,
	struct error *err)
{
	struct group first = { 0 };
	size_t left = STEP_GROUPS;
	bool is_found;
	int r = find_due(c, &is_found, &first, &left, now_ms, err);

	if (r == 0 && is_found) {
		r = db_exec(c->db, "BEGIN IMMEDIATE", err);
		r = r == 0 ? pack_from(c, &is_found, &first, &left, now_ms, err)
			   : r;
		r = db_end(c->db, r, err);
		c->cursor = r < 0 ? first.id : c->cursor;
	}
	*is_idle = r == 0 && !is_found && c->cursor == 0;
	return r;
}
