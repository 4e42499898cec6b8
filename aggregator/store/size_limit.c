#include "aggregator/store/size_limit.h"

#include "aggregator/store/db.h"
#include "aggregator/store/decisions.h"
#include "aggregator/store/head.h"
#include "aggregator/store/move_table.h"
#include "aggregator/store/node_usage.h"
#include "aggregator/store/outbox_table.h"
#include "aggregator/store/partition.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <sqlite3.h>
#include <stdlib.h>

static const uint64_t log_every_us = 60000000;

/* Sizes are counted again after this, while there is something to delete. */
static const uint64_t count_every_us = 300000000;

/* Part of the limit that each table of records may have. */
enum { RECORDS_PART = 16 };

enum kind { LEFT, DECISIONS, MOVES, REPORTS, MINUTES, HOURS, ROWS, KINDS };

static const char *const kind_names[KINDS] = {
	[LEFT] = "reports waiting for remote write",
	[DECISIONS] = "decision records",
	[MOVES] = "moves",
	[REPORTS] = "chunks of reports",
	[MINUTES] = "minutes",
	[HOURS] = "hours",
	[ROWS] = "reports that are not packed yet",
};

enum { RECORD_TABLES = 2 };

static const struct {
	const struct record_table *table;
	enum kind kind;
} record_tables[RECORD_TABLES] = {
	{ &decisions_table, DECISIONS },
	{ &move_table_records, MOVES },
};

static const enum kind kind_of_tier[STORE_TIERS] = { REPORTS, MINUTES, HOURS };

/* Deleted since the last line in the log. */
struct tally {
	uint64_t count, from_ms;
	struct log_limit log;
};

struct size_limit {
	struct sqlite3 *db;
	uint64_t max_bytes, used_bytes;
	bool has_outbox;
	struct node_usage *usage;
	bool is_counted; /* usage and record_bytes */
	uint64_t counted_us, record_bytes[RECORD_TABLES];
	struct tally tallies[KINDS];
	struct log_limit greedy_log, empty_log;
};

int size_limit_new(struct size_limit **out, struct sqlite3 *db,
	const struct store_options *options, struct error *err)
{
	struct size_limit *limit = xcalloc(1, sizeof(*limit));
	int r = node_usage_new(&limit->usage, db, err);

	limit->db = db;
	limit->max_bytes = options->max_bytes;
	limit->has_outbox = options->outbox_bytes > 0;
	if (r < 0) {
		size_limit_free(limit);
		return r;
	}
	*out = limit;
	return 0;
}

/* ---- log ---- */

static void log_tally(const struct size_limit *limit, enum kind kind)
{
	const struct tally *tally = &limit->tallies[kind];
	char from[CLOCK_TEXT_MAX];

	log_warning("database exceeds its size limit, deleted its oldest data",
		log_str("what", kind_names[kind]),
		log_int("count", (int64_t)tally->count),
		log_str("from",
			tally->from_ms == 0
				? ""
				: clock_text(from, tally->from_ms * 1000)),
		log_int("bytes", (int64_t)limit->used_bytes),
		log_int("limit", (int64_t)limit->max_bytes), LOG_END);
}

static void log_tallies(struct size_limit *limit, uint64_t now_us)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		struct tally *tally = &limit->tallies[kind];

		if (tally->count > 0 &&
			log_allow(&tally->log, now_us, log_every_us, NULL)) {
			log_tally(limit, kind);
			tally->count = 0;
		}
	}
}

void size_limit_free(struct size_limit *limit)
{
	if (limit == NULL) {
		return;
	}
	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (limit->tallies[kind].count > 0) {
			log_tally(limit, kind);
		}
	}
	node_usage_free(limit->usage);
	free(limit);
}

/* from_ms: the earliest time in what was deleted, or 0. */
static void note(struct size_limit *limit, enum kind kind, uint64_t count,
	uint64_t from_ms)
{
	struct tally *tally = &limit->tallies[kind];

	if (count > 0 && (tally->count == 0 || from_ms < tally->from_ms)) {
		tally->from_ms = from_ms;
	}
	tally->count += count;
}

/* ---- counting ---- */

/* The file without its free pages: deleting does not make a file shorter. */
static int read_used(struct size_limit *limit, struct error *err)
{
	int64_t pages = 0, unused = 0, size = 0;
	int r = db_read_number(&pages, limit->db, "PRAGMA page_count", err);

	if (r == 0) {
		r = db_read_number(&unused, limit->db, "PRAGMA freelist_count",
			err);
	}
	if (r == 0) {
		r = db_read_number(&size, limit->db, "PRAGMA page_size", err);
	}
	if (r == 0) {
		limit->used_bytes = (uint64_t)((pages - unused) * size);
	}
	return r;
}

static int count_sizes(struct size_limit *limit, uint64_t now_us,
	struct error *err)
{
	int r = node_usage_step(limit->usage, &limit->is_counted, err);

	limit->counted_us = now_us;
	for (size_t i = 0; r == 0 && limit->is_counted && i < RECORD_TABLES;
		i++) {
		r = record_table_bytes(&limit->record_bytes[i], limit->db,
			record_tables[i].table, err);
	}
	return r;
}

/* ---- deleting: *count says how much, 0 if there was nothing ---- */

/* No more than is too much. */
static uint64_t excess(const struct size_limit *limit)
{
	return limit->used_bytes - limit->max_bytes;
}

static int delete_left(struct size_limit *limit, size_t *count,
	struct error *err)
{
	int r;

	if (limit->has_outbox) {
		return 0;
	}
	r = outbox_table_delete_left(count, limit->db, err);
	note(limit, LEFT, *count, 0);
	return r;
}

static int delete_of_table(struct size_limit *limit, size_t *count, size_t i,
	struct error *err)
{
	uint64_t bytes = 0;
	int r = record_table_delete_first(count, &bytes, limit->db,
		record_tables[i].table, err);

	limit->record_bytes[i] -=
		bytes < limit->record_bytes[i] ? bytes : limit->record_bytes[i];
	note(limit, record_tables[i].kind, *count, 0);
	return r;
}

/* From the first table that has records, or more than its share of them. */
static int delete_records(struct size_limit *limit, size_t *count,
	bool above_share, struct error *err)
{
	uint64_t share = limit->max_bytes / RECORDS_PART;
	int r = 0;

	for (size_t i = 0; r == 0 && *count == 0 && i < RECORD_TABLES; i++) {
		if (!above_share || limit->record_bytes[i] > share) {
			r = delete_of_table(limit, count, i, err);
		}
	}
	return r;
}

static int delete_rows_of_node(struct size_limit *limit, size_t *count,
	int64_t node, struct error *err)
{
	struct head_deleted rows = { 0 };
	int r = head_delete_rows_of_node(&rows, limit->db, node, excess(limit),
		err);

	*count = rows.rows;
	node_usage_subtract_head(limit->usage, rows.bytes);
	/* Without rows the count was wrong. */
	node_usage_subtract(limit->usage, node,
		rows.rows > 0 ? rows.bytes : UINT64_MAX);
	note(limit, ROWS, rows.rows, rows.from_ms);
	return r;
}

static int delete_of_node(struct size_limit *limit, size_t *count, int64_t node,
	struct error *err)
{
	int r = 0;

	for (enum store_tier tier = STORE_RAW;
		r == 0 && *count == 0 && tier < STORE_TIERS; tier++) {
		struct partition_dropped blobs = { 0 };

		r = partition_drop_of_node(&blobs, limit->db, tier, node,
			excess(limit), err);
		*count = blobs.blobs;
		node_usage_subtract(limit->usage, node, blobs.bytes);
		note(limit, kind_of_tier[tier], blobs.blobs, blobs.from_ms);
	}
	return r == 0 && *count == 0
		? delete_rows_of_node(limit, count, node, err)
		: r;
}

static void log_greedy(struct size_limit *limit,
	const struct node_usage_excess *node, uint64_t now_us)
{
	scoped_free char *name = head_node_name(limit->db, node->node);

	if (log_allow(&limit->greedy_log, now_us, log_every_us, NULL)) {
		log_warning(
			"a node has more than its share of the database, "
			"deleting its oldest data",
			log_str("node", name),
			log_int("bytes", (int64_t)node->bytes),
			log_int("share", (int64_t)node->share), LOG_END);
	}
}

static int trim_greedy(struct size_limit *limit, size_t *count, uint64_t now_us,
	struct error *err)
{
	struct node_usage_excess node;

	if (!node_usage_find_excess(&node, limit->usage, limit->max_bytes)) {
		return 0;
	}
	log_greedy(limit, &node, now_us);
	return delete_of_node(limit, count, node.node, err);
}

/* Blobs of the table that begins at from_ms. */
static int delete_of_partition(struct size_limit *limit, size_t *count,
	enum store_tier tier, uint64_t from_ms, struct error *err)
{
	struct partition_dropped dropped = { 0 };
	int r = partition_drop_some(&dropped, limit->db, tier, from_ms,
		excess(limit), err);

	/* An empty table is progress, too. */
	*count = dropped.blobs + dropped.is_gone;
	note(limit, kind_of_tier[tier], dropped.blobs, dropped.from_ms);
	return r;
}

/* Leaves the newest `kept` tables of the tier. */
static int delete_blobs(struct size_limit *limit, size_t *count,
	enum store_tier tier, size_t kept, struct error *err)
{
	struct partition_span span = { 0 };
	int r = partition_find_span(&span, limit->db, tier, err);

	return r < 0 || span.count <= kept
		? r
		: delete_of_partition(limit, count, tier, span.from_ms, err);
}

/* From the last table, if it begins after wall_ms. */
static int delete_future(struct size_limit *limit, size_t *count,
	uint64_t wall_ms, struct error *err)
{
	int r = 0;

	for (enum store_tier tier = STORE_RAW;
		r == 0 && *count == 0 && tier < STORE_TIERS; tier++) {
		uint64_t span_ms = partition_span_ms(tier);
		struct partition_span span = { 0 };

		r = partition_find_span(&span, limit->db, tier, err);
		if (r == 0 && span.count > 0 &&
			span.end_ms - span_ms > wall_ms) {
			r = delete_of_partition(limit, count, tier,
				span.end_ms - span_ms, err);
		}
	}
	return r;
}

static int delete_rows(struct size_limit *limit, size_t *count,
	struct error *err)
{
	struct head_deleted deleted = { 0 };
	int r = head_delete_rows(&deleted, limit->db, UINT64_MAX, excess(limit),
		err);

	*count = deleted.rows;
	node_usage_subtract_head(limit->usage, deleted.bytes);
	note(limit, ROWS, deleted.rows, deleted.from_ms);
	return r;
}

/* Steps 5 to 7. */
static int delete_oldest(struct size_limit *limit, size_t *count,
	struct error *err)
{
	int r = delete_blobs(limit, count, STORE_RAW, 1, err);

	if (r == 0 && *count == 0) {
		r = delete_blobs(limit, count, STORE_1M, 1, err);
	}
	if (r == 0 && *count == 0 &&
		node_usage_head_bytes(limit->usage) > limit->max_bytes / 2) {
		r = delete_rows(limit, count, err);
	}
	for (enum store_tier tier = STORE_RAW;
		r == 0 && *count == 0 && tier < STORE_TIERS; tier++) {
		r = delete_blobs(limit, count, tier, 0, err);
	}
	if (r == 0 && *count == 0) {
		r = delete_rows(limit, count, err);
	}
	return r == 0 && *count == 0 ? delete_records(limit, count, false, err)
				     : r;
}

static int delete_some(struct size_limit *limit, size_t *count,
	const struct size_limit_now *now, struct error *err)
{
	int r = delete_left(limit, count, err);

	if (r == 0 && *count == 0) {
		r = delete_records(limit, count, true, err);
	}
	if (r == 0 && *count == 0) {
		r = delete_future(limit, count, now->wall_ms, err);
	}
	if (r == 0 && *count == 0) {
		r = trim_greedy(limit, count, now->monotonic_us, err);
	}
	return r == 0 && *count == 0 ? delete_oldest(limit, count, err) : r;
}

int size_limit_step(struct size_limit *limit, bool *is_idle,
	const struct size_limit_now *now, struct error *err)
{
	uint64_t now_us = now->monotonic_us;
	size_t count = 0;
	int r = read_used(limit, err);

	*is_idle = r < 0 || limit->max_bytes == 0 ||
		limit->used_bytes <= limit->max_bytes;
	log_tallies(limit, now_us);
	if (*is_idle) {
		return r;
	}
	if (limit->is_counted && now_us - limit->counted_us >= count_every_us) {
		limit->is_counted = false;
		node_usage_restart(limit->usage);
	}
	if (!limit->is_counted) {
		return count_sizes(limit, now_us, err);
	}
	r = delete_some(limit, &count, now, err);
	*is_idle = r == 0 && count == 0;
	if (*is_idle &&
		log_allow(&limit->empty_log, now_us, log_every_us, NULL)) {
		log_warning(
			"database exceeds its size limit, and nothing is "
			"left to delete",
			log_int("bytes", (int64_t)limit->used_bytes),
			log_int("limit", (int64_t)limit->max_bytes), LOG_END);
	}
	return r;
}

uint64_t size_limit_used_bytes(const struct size_limit *limit)
{
	return limit->used_bytes;
}
