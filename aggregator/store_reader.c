#include "aggregator/store_decisions.h"
#include "aggregator/store_thread.h"

#include <errno.h>
#include <sqlite3.h>

/* Long read transactions keep the write-ahead log from being reset, so a query
 * goes in pages and lets go between them. */
enum { PAGE_ROWS = 1000 };

struct page {
	uint64_t from_ms;
	int64_t after_id; /* of from_ms: rows up to here were given */
	int rows;
};

/* Gives one page of rows; false: the query has ended. */
static bool give_page(struct page *page, struct sqlite3_stmt *statement,
	const struct store_job *job, const struct store *store)
{
	page->rows = 0;
	while (sqlite3_step(statement) == SQLITE_ROW) {
		struct store_row row;

		page->rows++;
		page->from_ms = (uint64_t)sqlite3_column_int64(statement, 2);
		page->after_id = sqlite3_column_int64(statement, 4);
		if (atomic_load(&store->stopping)) {
			return false;
		}
		if (store_db_row(&row, statement) &&
			!job->read.row(job->read.owner, &row)) {
			return false;
		}
	}
	return page->rows == PAGE_ROWS;
}

static void bind_page(struct sqlite3_stmt *statement,
	const struct store_read *read, const struct page *page)
{
	(void)sqlite3_bind_text(statement, 1, read->node, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(statement, 2, (int64_t)page->from_ms);
	(void)sqlite3_bind_int64(statement, 3, page->after_id);
	(void)sqlite3_bind_int64(statement, 4, (int64_t)read->to_ms);
	(void)sqlite3_bind_int(statement, 5, PAGE_ROWS);
}

static int run_query(struct sqlite3 *db, const struct store_job *job,
	const struct store *store, struct error *err)
{
	static const char sql[] =
		"SELECT node.name, run_id, sample_ms, body, report.id"
		" FROM node JOIN report ON report.node = node.id"
		" WHERE node.name = ?1 AND sample_ms >= ?2"
		" AND (sample_ms > ?2 OR report.id > ?3) AND sample_ms < ?4"
		" ORDER BY sample_ms, report.id LIMIT ?5";
	struct page page = { .from_ms = job->read.from_ms };
	struct sqlite3_stmt *statement = NULL;
	int r = store_db_prepare(&statement, db, sql, err);
	bool more = r == 0;

	while (more) {
		bind_page(statement, &job->read, &page);
		more = give_page(&page, statement, job, store);
		r = sqlite3_errcode(db);
		(void)sqlite3_reset(statement);
	}
	if (r != SQLITE_OK && r != SQLITE_ROW && r != SQLITE_DONE && r > 0) {
		r = store_db_error(db, err, "cannot read");
	}
	(void)sqlite3_finalize(statement);
	return r < 0 ? r : 0;
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

void store_reader_run(void *argument)
{
	struct store *store = argument;
	struct sqlite3 *db = NULL;
	struct store_job *job;

	while ((job = take_job(store)) != NULL) {
		int r = 0;

		if (db == NULL) {
			r = store_db_open(&db, store->path, &job->error);
		}
		if (r == 0) {
			r = job->is_decisions
				? decisions_read(db, &job->decisions,
					  &job->error)
				: run_query(db, job, store, &job->error);
		}
		if (r == 0 && atomic_load(&store->stopping)) {
			(void)error_set(&job->error, -ECANCELED,
				"shutting down");
		}
		inbox_push(store->inbox, &job->item.inbox);
	}
	(void)sqlite3_close(db);
	inbox_push(store->inbox, &store->reader_end.inbox);
}
