#include "aggregator/store_retention.h"
#include "aggregator/store_thread.h"

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

/* A commit waits this long for more to share its fsync, unless this much has
 * come by then. */
static const uint64_t group_us = 50000;
enum { GROUP_BYTES = 8 << 20 };

static const uint64_t complain_us = 60000000;

struct writer {
	struct store *store;
	struct sqlite3 *db;
	int lock; /* descriptor of the lock file, or -1 */
	struct sqlite3_stmt *find_node, *add_node, *add_report;
	struct retention *retention;
	struct log_limit complaints;
	bool is_failing; /* the last group was not written */
};

/* ---- opening ---- */

static int take_lock(struct writer *w, struct error *err)
{
	scoped_free char *path = xasprintf("%s.lock", w->store->path);

	w->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (w->lock < 0) {
		return error_errno(err, "cannot open '%s'", path);
	}
	if (flock(w->lock, LOCK_EX | LOCK_NB) == 0) {
		return 0;
	}
	if (errno == EWOULDBLOCK) {
		return error_set(err, -EWOULDBLOCK,
			"another aggregator uses the database '%s'",
			w->store->path);
	}
	return error_errno(err, "cannot lock '%s'", path);
}

static int prepare_statements(struct writer *w, struct error *err)
{
	const struct {
		struct sqlite3_stmt **statement;
		const char *sql;
	} all[] = {
		{ &w->find_node, "SELECT id FROM node WHERE name = ?" },
		{ &w->add_node, "INSERT INTO node(name) VALUES (?)" },
		{ &w->add_report,
			"INSERT OR IGNORE INTO report"
			"(node, run_id, seq, sample_ms, body)"
			" VALUES (?, ?, ?, ?, ?)" },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < count_of(all); i++) {
		r = store_db_prepare(all[i].statement, w->db, all[i].sql, err);
	}
	return r;
}

static void add_seed(struct store_opening *opening, const struct store_row *row)
{
	struct store_seed *seed;

	opening->seeds = xgrow(opening->seeds, opening->count,
		&opening->capacity, sizeof(*opening->seeds));
	seed = &opening->seeds[opening->count];
	*seed = (struct store_seed){
		.node = xstrdup(row->node),
		.sample_ms = row->sample_ms,
		.body = xmemdup(row->body, row->len),
		.len = row->len,
	};
	memcpy(seed->run_id, row->run_id, REPORT_RUN_ID_BYTES);
	opening->count++;
}

static int read_seeds(struct store_opening *opening, struct sqlite3 *db,
	struct error *err)
{
	static const char sql[] =
		"SELECT node.name, run_id, sample_ms, body FROM node"
		" JOIN report ON report.id = (SELECT id FROM report"
		" WHERE node = node.id ORDER BY sample_ms DESC LIMIT 1)";
	struct sqlite3_stmt *statement = NULL;
	struct store_row row;
	int r = store_db_prepare(&statement, db, sql, err);
	int step = SQLITE_DONE;

	while (r == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW) {
		if (store_db_row(&row, statement)) {
			add_seed(opening, &row);
		}
	}
	if (r == 0 && step != SQLITE_DONE) {
		r = store_db_error(db, err, "cannot read the last reports");
	}
	(void)sqlite3_finalize(statement);
	return r;
}

static int open_all(struct writer *w, struct store_opening *opening,
	struct error *err)
{
	int r = take_lock(w, err);

	if (r == 0) {
		r = store_db_open(&w->db, w->store->path, err);
	}
	if (r == 0) {
		r = store_db_prepare_schema(w->db, err);
	}
	if (r == 0) {
		r = prepare_statements(w, err);
	}
	if (r == 0) {
		r = retention_new(&w->retention, w->db,
			w->store->options.retention_us, err);
	}
	return r < 0 ? r : read_seeds(opening, w->db, err);
}

static bool open_store(struct writer *w)
{
	struct store_opening *opening = xcalloc(1, sizeof(*opening));
	bool is_open;

	opening->item.event = STORE_OPENED;
	is_open = open_all(w, opening, &opening->error) == 0;
	inbox_push(w->store->inbox, &opening->item.inbox);
	return is_open;
}

/* ---- writing ---- */

/* Runs a statement that gives no rows; bound values are let go of. */
static int run(struct writer *w, struct sqlite3_stmt *statement,
	struct error *err)
{
	int r = 0;

	if (sqlite3_step(statement) != SQLITE_DONE) {
		r = store_db_error(w->db, err, "cannot write");
	}
	(void)sqlite3_reset(statement);
	(void)sqlite3_clear_bindings(statement);
	return r;
}

static int find_node(int64_t *id, struct writer *w, const char *name,
	struct error *err)
{
	int step, r;

	(void)sqlite3_bind_text(w->find_node, 1, name, -1, SQLITE_STATIC);
	step = sqlite3_step(w->find_node);
	*id = step == SQLITE_ROW ? sqlite3_column_int64(w->find_node, 0) : 0;
	r = step == SQLITE_ROW || step == SQLITE_DONE
		? 0
		: store_db_error(w->db, err, "cannot read");
	(void)sqlite3_reset(w->find_node);
	(void)sqlite3_clear_bindings(w->find_node);
	if (r < 0 || *id != 0) {
		return r;
	}
	(void)sqlite3_bind_text(w->add_node, 1, name, -1, SQLITE_STATIC);
	r = run(w, w->add_node, err);
	*id = sqlite3_last_insert_rowid(w->db);
	return r;
}

static int write_batch(struct writer *w, const struct store_batch *batch,
	struct error *err)
{
	int64_t node = 0;
	int r = find_node(&node, w, batch->node, err);

	for (size_t i = 0; r == 0 && i < batch->count; i++) {
		const struct batch_row *row = &batch->rows[i];
		struct sqlite3_stmt *add = w->add_report;

		(void)sqlite3_bind_int64(add, 1, node);
		(void)sqlite3_bind_blob(add, 2, batch->run_id,
			REPORT_RUN_ID_BYTES, SQLITE_STATIC);
		(void)sqlite3_bind_int64(add, 3, (int64_t)row->seq);
		(void)sqlite3_bind_int64(add, 4, (int64_t)row->sample_ms);
		(void)sqlite3_bind_blob(add, 5,
			batch->bodies.data + row->offset, (int)row->len,
			SQLITE_STATIC);
		r = run(w, add, err);
	}
	return r;
}

static int write_group(struct writer *w, const struct store_batch *first,
	struct error *err)
{
	int r = store_db_exec(w->db, "BEGIN IMMEDIATE", err);

	for (; r == 0 && first != NULL; first = first->next) {
		r = write_batch(w, first, err);
	}
	if (r == 0) {
		r = store_db_exec(w->db, "COMMIT", err);
	}
	if (r < 0) {
		store_db_rollback(w->db);
	}
	return r;
}

static void complain(struct writer *w, const struct error *err)
{
	uint64_t suppressed = 0;

	if (log_allow(&w->complaints, clock_monotonic_us(), complain_us,
		    &suppressed)) {
		log_error("the database does not take writes", log_err(err),
			log_int("suppressed", (int64_t)suppressed), LOG_END);
	}
}

static void finish_group(struct writer *w, struct store_batch *batch)
{
	struct error error = { 0 };
	size_t bytes = 0;

	if (write_group(w, batch, &error) < 0) {
		complain(w, &error);
		w->is_failing = true;
	} else if (w->is_failing) {
		log_info("the database takes writes again", LOG_END);
		w->is_failing = false;
	}
	while (batch != NULL) {
		struct store_batch *next = batch->next;

		batch->error = error;
		bytes += batch->held_bytes;
		inbox_push(w->store->inbox, &batch->item.inbox);
		batch = next;
	}
	uv_mutex_lock(&w->store->mutex);
	w->store->queued_bytes -= bytes;
	uv_mutex_unlock(&w->store->mutex);
}

/* ---- the thread ---- */

static void apply_retention(struct writer *w)
{
	struct error error = { 0 };

	if (retention_step(w->retention, &error) < 0) {
		complain(w, &error);
	}
}

static uint64_t nanoseconds_until(uint64_t due_us)
{
	uint64_t now_us = clock_monotonic_us();

	return due_us > now_us ? (due_us - now_us) * 1000 : 0;
}

static bool is_stopping(const struct store *store)
{
	return atomic_load(&store->stopping);
}

/* Waits for work, then a little for more of it. NULL: retention is due, or the
 * store stops and nothing is left. */
static struct store_batch *take_group(struct writer *w)
{
	struct store *store = w->store;
	struct store_batch *group;
	uint64_t end_us;

	uv_mutex_lock(&store->mutex);
	while (store->first_batch == NULL && !is_stopping(store) &&
		nanoseconds_until(retention_due_us(w->retention)) > 0) {
		(void)uv_cond_timedwait(&store->wake_writer, &store->mutex,
			nanoseconds_until(retention_due_us(w->retention)));
	}
	end_us = clock_monotonic_us() + group_us;
	while (store->first_batch != NULL && !is_stopping(store) &&
		store->queued_bytes < GROUP_BYTES &&
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
		/* Read before the queue: the loop queues nothing after it
		 * said stop, so an empty queue then stays empty. */
		bool stopping = is_stopping(w->store);
		struct store_batch *group = take_group(w);

		if (group != NULL) {
			finish_group(w, group);
		} else if (stopping) {
			return;
		}
		if (!stopping) {
			apply_retention(w);
		}
	}
}

/* A store that could not be opened waits to be closed as any other. */
static void wait_for_stop(struct store *store)
{
	uv_mutex_lock(&store->mutex);
	while (!is_stopping(store)) {
		uv_cond_wait(&store->wake_writer, &store->mutex);
	}
	uv_mutex_unlock(&store->mutex);
}

static void close_all(struct writer *w)
{
	(void)sqlite3_finalize(w->find_node);
	(void)sqlite3_finalize(w->add_node);
	(void)sqlite3_finalize(w->add_report);
	retention_free(w->retention);
	(void)sqlite3_close(w->db);
	scoped_fd_run(&w->lock);
}

/* Leaves one file behind rather than two. */
static void checkpoint(struct writer *w)
{
	struct error error = { 0 };

	if (store_db_exec(w->db, "PRAGMA wal_checkpoint(TRUNCATE)", &error) <
		0) {
		complain(w, &error);
	}
}

void store_writer_run(void *argument)
{
	struct store *store = argument;
	struct writer w = { .store = store, .lock = -1 };

	if (open_store(&w)) {
		write_until_stopped(&w);
		checkpoint(&w);
	} else {
		wait_for_stop(store);
	}
	close_all(&w);
	inbox_push(store->inbox, &store->writer_end.inbox);
}
