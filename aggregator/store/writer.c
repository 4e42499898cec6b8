#include "aggregator/store/backup_mark.h"
#include "aggregator/store/commit_interval.h"
#include "aggregator/store/db.h"
#include "aggregator/store/db_file.h"
#include "aggregator/store/decisions.h"
#include "aggregator/store/head.h"
#include "aggregator/store/maintenance.h"
#include "aggregator/store/move_table.h"
#include "aggregator/store/outbox_convert.h"
#include "aggregator/store/pod_nodes.h"
#include "aggregator/store/tables.h"
#include "aggregator/store/thread.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>

static const uint64_t log_every_us = 60000000;
static const uint64_t savepoints_us = 60000000;
static const uint64_t retry_every_us = 5000000;
static const uint64_t hour_us = 3600000000;

struct writer {
	struct store *store;
	struct db_file file;
	struct tables tables; /* zeroed: not open */
	struct error closed;  /* why it is not open; code 0: it is */
	uint64_t retry_us;    /* while it is not open: when to try again */
	struct commit_interval commit_interval;
	struct log_limit log_limit;
	bool is_failing; /* the last group was not written */
	uint64_t savepoints_until_us;
	uint64_t unstored_ms; /* see struct maintenance_now */
	bool is_damage_marked;
};

/* ---- opening ---- */

static int start_empty(struct writer *w, struct store_opening *opening,
	struct error *err)
{
	struct error why = *err;
	int r;

	tables_close(&w->tables);
	last_reports_fini(&opening->last_reports);
	w->file.mark = DB_FILE_CLOSED;
	r = db_file_set_aside(&w->file, &why, err);
	*err = r < 0 ? *err : (struct error){ 0 };
	return r < 0 ? r
		     : tables_open(&w->tables, &w->file, w->store,
			       &opening->last_reports, err);
}

/* The lock is kept while the database cannot be opened. */
static int open_all(struct writer *w, struct store_opening *opening,
	struct error *err)
{
	int r = w->file.lock >= 0 ? 0
				  : db_file_init(&w->file, w->store->path, err);

	r = r == 0 ? backup_mark_take(&w->file, err) : r;
	if (r == 0) {
		r = tables_open(&w->tables, &w->file, w->store,
			&opening->last_reports, err);
		if (r == -EBADMSG && db_file_is_ours(&w->file)) {
			r = start_empty(w, opening, err);
		}
	}
	r = r == 0 ? db_file_note_ids(&w->file, err) : r;
	if (r == 0) {
		opening->is_doubtful = w->file.mark == DB_FILE_IN_USE;
		r = db_file_mark(&w->file, DB_FILE_IN_USE, err);
	}
	return r;
}

/* Publishes the state after bytes of the queue were written. */
static void publish_counts(struct writer *w, size_t bytes)
{
	uv_mutex_lock(&w->store->mutex);
	w->store->queued_bytes -= bytes;
	if (w->closed.code == 0) {
		w->store->outbox = outbox_table_counts(w->tables.outbox);
	}
	uv_mutex_unlock(&w->store->mutex);
}

/* Tries again only if the disk is full: the event loop goes on meanwhile, and
 * learns of the first such failure. */
static void open_store(struct writer *w)
{
	struct store_opening *opening = xcalloc(1, sizeof(*opening));
	int before = w->closed.code;
	int r = open_all(w, opening, &opening->error);

	if (r == -ENOSPC) {
		(void)error_wrap(&opening->error, r,
			"the disk of the database is full");
	}
	if (r == 0) {
		opening->error = (struct error){ 0 };
	}
	opening->item.event = STORE_OPENED;
	w->closed = opening->error;
	if (r < 0) {
		w->retry_us = r == -ENOSPC
			? clock_monotonic_us() + retry_every_us
			: UINT64_MAX;
		tables_close(&w->tables);
		last_reports_fini(&opening->last_reports);
		if (w->file.lock < 0) {
			db_file_fini(&w->file);
		}
	} else {
		publish_counts(w, 0);
	}
	if (r < 0 && r == before) {
		free(opening);
	} else {
		inbox_push(w->store->inbox, &opening->item.inbox);
	}
}

/* ---- writing ---- */

static int write_identity(struct writer *w,
	const struct store_identity *identity, struct error *err)
{
	int64_t node = 0;
	int r = identity->node[0] == '\0'
		? 0
		: head_find_node(&node, w->tables.head, identity->node, err);

	return r < 0 ? r
		     : pod_nodes_identify(w->tables.pod_nodes, identity, node,
			       clock_wall_us() / 1000, err);
}

/* Reports that are new go to the outbox, too. */
static int write_reports(struct writer *w, const struct store_batch *batch,
	struct error *err)
{
	struct head_report report = { .run_id = batch->run_id,
		.stored_ms = clock_wall_us() / 1000 };
	int r = head_find_node(&report.node, w->tables.head, batch->node, err);

	for (size_t i = 0; r == 0 && i < batch->count; i++) {
		const struct batch_entry *entry = &batch->entries[i];

		report.seq = entry->seq;
		report.sample_ms = entry->sample_ms;
		report.body = batch->bodies.data + entry->offset;
		report.len = entry->len;
		r = head_add(w->tables.head, &report, err);
		r = r > 0 ? outbox_table_add(w->tables.outbox, &report, err)
			  : r;
	}
	return r;
}

static int write_batch(struct writer *w, struct store_batch *batch,
	struct error *err)
{
	if (batch->kind == STORE_BATCH_DECISIONS) {
		return decisions_write(w->tables.decisions, batch, err);
	}
	if (batch->kind == STORE_BATCH_MOVES) {
		return move_table_write(w->tables.moves, batch, err);
	}
	if (batch->identity != NULL) {
		return write_identity(w, batch->identity, err);
	}
	if (batch->forwarded != 0) {
		return outbox_table_delete(w->tables.outbox, batch->forwarded,
			err);
	}
	return write_reports(w, batch, err);
}

/* Whether an error concerns only the batch, and not the database. */
static bool is_refusal(int r)
{
	return r == -EDQUOT;
}

/* Writes a batch, or undoes it and sets batch->error to the refusal. An error
 * is returned only if it concerns the database. */
static int write_or_refuse(struct writer *w, struct store_batch *batch,
	struct error *err)
{
	struct error why = { 0 };
	int r = db_exec(w->tables.db, "SAVEPOINT batch", err);

	if (r < 0) {
		return r;
	}
	outbox_table_begin_batch(w->tables.outbox);
	r = write_batch(w, batch, &why);
	if (is_refusal(r)) {
		outbox_table_undo_batch(w->tables.outbox);
		(void)error_set(&batch->error, -EDQUOT, "%s", why.text);
		r = db_exec(w->tables.db, "ROLLBACK TO batch", err);
	} else if (r < 0) {
		*err = why;
	}
	return r == 0 ? db_exec(w->tables.db, "RELEASE batch", err) : r;
}

static int write_all(struct writer *w, struct store_batch *batch,
	int (*write)(struct writer *w, struct store_batch *batch,
		struct error *err),
	struct error *err)
{
	int r = db_exec(w->tables.db, "BEGIN IMMEDIATE", err);

	for (; r == 0 && batch != NULL; batch = batch->next) {
		r = write(w, batch, err);
	}
	r = db_end(w->tables.db, r, err);
	outbox_table_end(w->tables.outbox, r == 0);
	return r;
}

/* A savepoint for each batch takes two statements and a copy of each page that
 * the batch changes, and few batches are refused. After one was, groups have
 * savepoints for a while: without them, the group is undone and written once
 * more. */
static int write_group(struct writer *w, struct store_batch *group,
	struct error *err)
{
	uint64_t now_us = clock_monotonic_us();
	int r;

	if (now_us < w->savepoints_until_us) {
		return write_all(w, group, write_or_refuse, err);
	}
	r = write_all(w, group, write_batch, err);
	if (is_refusal(r)) {
		w->savepoints_until_us = now_us + savepoints_us;
		*err = (struct error){ 0 };
		r = write_all(w, group, write_or_refuse, err);
	}
	return r;
}

static void log_failure(struct writer *w, const struct error *err)
{
	uint64_t suppressed = 0;

	if (log_allow(&w->log_limit, clock_monotonic_us(), log_every_us,
		    &suppressed)) {
		log_error("cannot write to the database", log_err(err),
			log_int("suppressed", (int64_t)suppressed), LOG_END);
	}
}

/* Moves the write-ahead log into the database. mode is SQLite's: PASSIVE does
 * not wait for readers, TRUNCATE leaves one file. */
static void checkpoint(struct writer *w, const char *mode)
{
	scoped_free char *sql = xasprintf("PRAGMA wal_checkpoint(%s)", mode);
	struct error error = { 0 };

	if (db_exec(w->tables.db, sql, &error) < 0) {
		log_failure(w, &error);
	}
}

/* Marks the file for the next start at once: this process may be killed. */
static void note_damage(struct writer *w, const struct error *err)
{
	struct error error = { 0 };

	if (err->code == -EBADMSG) {
		atomic_store(&w->store->is_damaged, true);
	}
	if (atomic_load(&w->store->is_damaged) && !w->is_damage_marked) {
		w->is_damage_marked = true;
		log_error("database is damaged, next start sets it aside",
			log_str("database", w->store->path), log_err(err),
			LOG_END);
		if (db_file_mark(&w->file, DB_FILE_DAMAGED, &error) < 0) {
			log_failure(w, &error);
		}
	}
}

/* The commit may have gone to a file that no longer has a name. If that file is
 * the log, the checkpoint moves into the database what was acknowledged before,
 * so that not even a kill loses it. */
static int check_files(struct writer *w, struct error *err)
{
	int r = db_file_check_ids(&w->file, err);

	if (r < 0) {
		checkpoint(w, "PASSIVE");
	}
	return r;
}

static void note_unstored(struct writer *w, const struct store_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->entries[i].sample_ms > w->unstored_ms) {
			w->unstored_ms = batch->entries[i].sample_ms;
		}
	}
}

static void note_commit(struct writer *w, uint64_t commit_us)
{
	commit_interval_note(&w->commit_interval, commit_us);
	uv_mutex_lock(&w->store->mutex);
	histogram_observe(&w->store->stats.commits, &store_stats_commits,
		(double)commit_us / 1e6);
	uv_mutex_unlock(&w->store->mutex);
}

static void finish_group(struct writer *w, struct store_batch *group)
{
	struct error error = { 0 };
	size_t bytes = 0;
	uint64_t start_us = clock_monotonic_us();
	int r = w->closed.code;

	if (r == 0) {
		r = write_group(w, group, &error);
		note_commit(w, clock_monotonic_us() - start_us);
		r = r == 0 ? check_files(w, &error) : r;
	} else {
		error = w->closed;
	}
	note_damage(w, &error);
	if (r < 0) {
		log_failure(w, &error);
		w->is_failing = true;
	} else if (w->is_failing) {
		log_info("database accepts writes again", LOG_END);
		w->is_failing = false;
	}
	for (struct store_batch *batch = group; batch != NULL;
		batch = batch->next) {
		batch->error = r < 0 ? error : batch->error;
		if (r == -ENOSPC) {
			note_unstored(w, batch);
		}
		bytes += batch->held_bytes;
	}
	publish_counts(w, bytes);
	inbox_push(w->store->inbox, &group->item.inbox);
}

/* ---- the thread ---- */

static uint64_t due_us(const struct writer *w)
{
	return w->closed.code == 0 ? maintenance_due_us(w->tables.maintenance)
				   : w->retry_us;
}

static void maintain(struct writer *w)
{
	const struct maintenance_now now = { clock_monotonic_us(),
		clock_wall_us() / 1000, w->unstored_ms };
	struct error error = { 0 };

	if (now.monotonic_us < due_us(w)) {
		return;
	}
	if (w->closed.code != 0) {
		open_store(w);
		return;
	}
	if (check_files(w, &error) < 0) {
		maintenance_postpone(w->tables.maintenance, now.monotonic_us);
		log_failure(w, &error);
	} else if (maintenance_step(w->tables.maintenance, &now, &error) < 0) {
		log_failure(w, &error);
	}
	commit_interval_note_step(&w->commit_interval,
		clock_monotonic_us() - now.monotonic_us);
	uv_mutex_lock(&w->store->mutex);
	w->store->stats.left_out = maintenance_left_out(w->tables.maintenance);
	w->store->stats.database_bytes =
		maintenance_used_bytes(w->tables.maintenance);
	uv_mutex_unlock(&w->store->mutex);
}

/* An hour at most. */
static uint64_t nanoseconds_until(uint64_t due_us)
{
	uint64_t now_us = clock_monotonic_us();

	return due_us <= now_us		    ? 0
		: due_us - now_us < hour_us ? (due_us - now_us) * 1000
					    : hour_us * 1000;
}

static bool is_stopping(const struct store *store)
{
	return atomic_load(&store->stopping);
}

/* Waits for a batch, then for more of them until the commit interval after the
 * first batch was queued has passed. NULL: maintenance is due, or the store
 * stops and the queue is empty. */
static struct store_batch *take_group(struct writer *w)
{
	struct store *store = w->store;
	struct store_batch *group;
	uint64_t end_us;

	uv_mutex_lock(&store->mutex);
	while (store->first_batch == NULL && !is_stopping(store) &&
		nanoseconds_until(due_us(w)) > 0) {
		(void)uv_cond_timedwait(&store->wake_writer, &store->mutex,
			nanoseconds_until(due_us(w)));
	}
	end_us = store->first_queued_us +
		commit_interval_us(&w->commit_interval);
	while (store->first_batch != NULL && !is_stopping(store) &&
		store->queued_bytes < STORE_GROUP_BYTES &&
		nanoseconds_until(end_us) > 0) {
		(void)uv_cond_timedwait(&store->wake_writer, &store->mutex,
			nanoseconds_until(end_us));
	}
	group = store->first_batch;
	store->first_batch = NULL;
	store->last_batch = &store->first_batch;
	uv_mutex_unlock(&store->mutex);
	return group;
}

static void write_until_stopped(struct writer *w)
{
	for (;;) {
		/* Read before the queue: the event loop queues nothing after
		 * it set the flag, so an empty queue stays empty. */
		bool stopping = is_stopping(w->store);
		struct store_batch *group = take_group(w);

		if (group != NULL) {
			finish_group(w, group);
		} else if (stopping) {
			return;
		}
		if (!stopping) {
			maintain(w);
		}
	}
}

/* Marks the file for the next start. */
static void mark_end(struct writer *w)
{
	struct error error = { 0 };

	if (db_file_mark(&w->file,
		    atomic_load(&w->store->is_damaged) ? DB_FILE_DAMAGED
						       : DB_FILE_CLOSED,
		    &error) < 0) {
		log_failure(w, &error);
	}
}

void writer_run(void *argument)
{
	struct store *store = argument;
	struct writer w = { .store = store, .file.lock = -1 };

	open_store(&w);
	write_until_stopped(&w);
	if (w.closed.code == 0) {
		checkpoint(&w, "TRUNCATE");
		tables_close(&w.tables);
		mark_end(&w);
	}
	db_file_fini(&w.file);
	inbox_push(store->inbox, &store->writer_end.inbox);
}
