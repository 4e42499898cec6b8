#include "aggregator/store/db.h"
#include "aggregator/store/decisions.h"
#include "aggregator/store/head.h"
#include "aggregator/store/hour_scan.h"
#include "aggregator/store/move_table.h"
#include "aggregator/store/outbox_table.h"
#include "aggregator/store/partition.h"
#include "aggregator/store/rollups.h"
#include "aggregator/store/thread.h"
#include "lib/clock.h"
#include "lib/memory.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>

/* A node, or a pod on a node, whose history a query reads. */
struct target {
	int64_t node;
	char *name, *pod_uid; /* owned; pod_uid is NULL for the node */
	/* The known time of the pod on the node. Recent and late reports may be
	 * outside of it. */
	uint64_t first_ms, last_ms;
};

/* A report is at most so far outside of the known time. */
static const uint64_t slack_ms = UINT64_C(86400000);

struct targets {
	struct target *list;
	size_t count, capacity;
};

struct reader {
	struct store *store;
	struct sqlite3 *db;
	struct hour_scan *scan;
	struct computed_hours *computed;
};

static void targets_fini(struct targets *targets)
{
	for (size_t i = 0; i < targets->count; i++) {
		free(targets->list[i].name);
		free(targets->list[i].pod_uid);
	}
	free(targets->list);
}

static const char *sql_of(const struct store_read *read)
{
	if (read->node[0] != '\0') {
		return "SELECT id, name, NULL, 0, ?4 FROM node"
		       " WHERE name = ?1";
	}
	/* See store/pod_nodes.h. */
	return "SELECT node.id, node.name, place.pod_uid, first_ms, last_ms"
	       " FROM identity"
	       " JOIN place ON place.pod_uid = identity.pod_uid"
	       " AND place.node = identity.node"
	       " JOIN node ON node.id = place.node"
	       " WHERE namespace = ?2 AND identity.name = ?3"
	       " ORDER BY first_ms";
}

static int find_targets(struct targets *targets, struct sqlite3 *db,
	const struct store_read *read, struct error *err)
{
	const char *const texts[] = { read->node, read->namespace, read->name };
	struct sqlite3_stmt *find = NULL;
	int r = db_prepare(&find, db, sql_of(read), err);

	for (int i = 0; r == 0 && i < (int)count_of(texts); i++) {
		db_bind_text(find, i + 1, texts[i]);
	}
	if (r == 0) {
		(void)sqlite3_bind_int64(find, 4, INT64_MAX);
	}
	while (db_step(&r, find, err)) {
		const char *uid = (const char *)sqlite3_column_text(find, 2);

		targets->list = xgrow(targets->list, targets->count,
			&targets->capacity, sizeof(*targets->list));
		targets->list[targets->count++] = (struct target){
			.node = sqlite3_column_int64(find, 0),
			.name = xstrdup(
				(const char *)sqlite3_column_text(find, 1)),
			.pod_uid = uid == NULL ? NULL : xstrdup(uid),
			.first_ms = (uint64_t)sqlite3_column_int64(find, 3),
			.last_ms = (uint64_t)sqlite3_column_int64(find, 4),
		};
	}
	(void)sqlite3_finalize(find);
	return r;
}

/* Cuts a range to the stored data, because each hour costs a query. */
static int cut_range(uint64_t range_ms[2], struct sqlite3 *db,
	enum store_tier tier, struct error *err)
{
	struct sqlite3_stmt *rows = NULL;
	uint64_t from_ms = UINT64_MAX, end_ms = 0;
	int r = db_prepare(&rows, db,
		"SELECT (SELECT min(id) FROM head), (SELECT max(id) FROM head)",
		err);

	if (db_step(&r, rows, err) && sqlite3_column_int64(rows, 1) > 0) {
		from_ms = head_slot_ms(sqlite3_column_int64(rows, 0));
		end_ms = head_slot_ms(sqlite3_column_int64(rows, 1)) +
			HEAD_SLOT_MS;
	}
	(void)sqlite3_finalize(rows);
	for (enum store_tier t = STORE_RAW; r == 0 && t <= tier; t++) {
		struct partition_span span = { 0 };

		r = partition_find_span(&span, db, t, err);
		if (r == 0 && span.count > 0) {
			from_ms =
				span.from_ms < from_ms ? span.from_ms : from_ms;
			end_ms = span.end_ms > end_ms ? span.end_ms : end_ms;
		}
	}
	/* The first minute counts, even if data begins within it. */
	from_ms -= from_ms == UINT64_MAX ? 0 : from_ms % 60000;
	range_ms[0] = from_ms > range_ms[0] ? from_ms : range_ms[0];
	range_ms[1] = end_ms < range_ms[1] ? end_ms : range_ms[1];
	return r;
}

/* Reads one hour of a target in its own transaction: a long transaction would
 * keep the write-ahead log from being reset. */
static int read_hour(struct reader *reader, bool *is_done,
	const struct store_read *read, const struct hour_scan_range *range,
	struct error *err)
{
	const struct rollups_source source = { reader->db, reader->scan,
		reader->computed, clock_monotonic_us() };
	int r = db_exec(reader->db, "BEGIN", err);

	if (r == 0) {
		r = read->tier == STORE_RAW
			? hour_scan_read(reader->scan, is_done, range,
				  read->row, read->owner, err)
			: rollups_read(&source, is_done, read, range, err);
	}
	db_rollback(reader->db);
	return r;
}

static int read_target(struct reader *reader, bool *is_done,
	const struct store_read *read, const struct target *target,
	struct error *err)
{
	uint64_t range_ms[2] = { read->from_ms, read->to_ms };
	int r;

	if (target->first_ms > range_ms[0] + slack_ms) {
		range_ms[0] = target->first_ms - slack_ms;
	}
	if (range_ms[1] > target->last_ms + slack_ms) {
		range_ms[1] = target->last_ms + slack_ms;
	}
	r = cut_range(range_ms, reader->db, read->tier, err);
	for (uint64_t at = range_ms[0]; r == 0 && !*is_done &&
		at < range_ms[1] && !atomic_load(&reader->store->stopping);) {
		uint64_t end_ms = partition_hour(at) + PARTITION_HOUR_MS;
		struct hour_scan_range range = { target->node, target->name,
			target->pod_uid, at,
			end_ms < range_ms[1] ? end_ms : range_ms[1],
			read->parts };

		r = read_hour(reader, is_done, read, &range, err);
		at = end_ms;
	}
	return r;
}

static int run_query(struct reader *reader, const struct store_read *read,
	struct error *err)
{
	struct targets targets = { 0 };
	bool is_done = false;
	int r = find_targets(&targets, reader->db, read, err);

	if (r == 0 && targets.count == 0 &&
		(read->node[0] == '\0' || read->name[0] == '\0')) {
		r = error_set(err, -ENOENT, "the store has no data of the %s",
			read->node[0] == '\0' ? "VM" : "node");
	}
	for (size_t i = 0; r == 0 && !is_done && i < targets.count; i++) {
		r = read_target(reader, &is_done, read, &targets.list[i], err);
	}
	targets_fini(&targets);
	return r;
}

static int open_reader(struct reader *reader, struct error *err)
{
	int r = reader->db != NULL
		? 0
		: db_open(&reader->db, reader->store->path, err);

	if (r == 0 && reader->scan == NULL) {
		r = hour_scan_new(&reader->scan, reader->db, err);
	}
	return r;
}

static int run_job(struct reader *reader, struct store_job *job)
{
	switch (job->kind) {
	case STORE_JOB_DECISIONS:
		return decisions_read(reader->db, &job->decisions, &job->error);
	case STORE_JOB_MOVES:
		return move_table_read(reader->db, &job->moves, &job->error);
	case STORE_JOB_OUTBOX:
		return outbox_table_read(reader->db, &job->outbox, &job->error);
	default:
		return run_query(reader, &job->read, &job->error);
	}
}

static struct store_job *take_job(struct store *store)
{
	struct store_job *job;

	uv_mutex_lock(&store->mutex);
	while (store->first_job == NULL && !atomic_load(&store->stopping)) {
		uv_cond_wait(&store->wake_reader, &store->mutex);
	}
	job = atomic_load(&store->stopping) ? NULL : store->first_job;
	if (job != NULL) {
		store->first_job = job->next;
		if (job->next == NULL) {
			store->last_job = &store->first_job;
		}
	}
	uv_mutex_unlock(&store->mutex);
	return job;
}

void reader_run(void *argument)
{
	struct store *store = argument;
	struct reader reader = { .store = store,
		.computed = computed_hours_new() };
	struct store_job *job;

	while ((job = take_job(store)) != NULL) {
		int r = open_reader(&reader, &job->error);

		r = r == 0 ? run_job(&reader, job) : r;
		if (r == 0 && atomic_load(&store->stopping)) {
			(void)error_set(&job->error, -ECANCELED,
				"shutting down");
		}
		inbox_push(store->inbox, &job->item.inbox);
	}
	computed_hours_free(reader.computed);
	hour_scan_free(reader.scan);
	(void)sqlite3_close(reader.db);
	inbox_push(store->inbox, &store->reader_end.inbox);
}
