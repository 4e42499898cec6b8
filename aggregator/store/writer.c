#include "aggregator/store/decisions.h"
#include "aggregator/store/db_file.h"
#include "aggregator/store/outbox_table.h"
#include "aggregator/store/commit_interval.h"
#include "aggregator/store/pod_nodes.h"
#include "aggregator/store/head.h"
#include "aggregator/store/thread.h"
#include "aggregator/store/maintenance.h"

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t complain_us = 60000000;

struct writer {
	struct store *store;
	struct sqlite3 *db;
	struct store_file file;
	struct places *places;
	struct tail *tail;
	struct outbox *outbox;
	struct upkeep *upkeep;
	struct decisions *decisions;
	struct pace pace;
	struct log_limit complaints;
	bool is_failing; /* the last group was not written */
	bool is_damage_marked;
};

/* ---- opening ---- */

static int open_database(struct writer *w, struct store_opening *opening,
	struct error *err)
{
	const struct store *store = w->store;
	int r = store_file_check(&w->file, err);

	if (r == 0) {
		r = store_db_check_owner(store->path, err);
	}
	if (r == 0) {
		r = store_db_open(&w->db, store->path, err);
	}
	if (r == 0) {
		r = store_db_prepare_schema(w->db, &store->stopping, err);
	}
	if (r == 0) {
		r = places_new(&w->places, w->db, err);
	}
	if (r == 0) {
		r = tail_new(&w->tail, w->db, err);
	}
	if (r == 0) {
		r = outbox_new(&w->outbox, w->db, store->options.outbox_bytes,
			err);
	}
	if (r == 0) {
		tail_forward(w->tail, w->outbox);
		r = upkeep_new(&w->upkeep, w->db, &store->options, err);
	}
	if (r == 0) {
		r = decisions_new(&w->decisions, w->db,
			store->options.decisions_kept_us, err);
	}
	return r < 0 ? r : store_read_seeds(opening, w->db, err);
}

static void close_database(struct writer *w)
{
	places_free(take_ptr(w->places));
	tail_free(take_ptr(w->tail));
	outbox_free(take_ptr(w->outbox));
	upkeep_free(take_ptr(w->upkeep));
	decisions_free(take_ptr(w->decisions));
	(void)sqlite3_close(take_ptr(w->db));
}

/* What was read of a damaged database before that was found. */
static void drop_seeds(struct store_opening *opening)
{
	for (size_t i = 0; i < opening->count; i++) {
		free(opening->seeds[i].node);
		report_fini(&opening->seeds[i].report);
	}
	opening->count = 0;
}

static int start_anew(struct writer *w, struct store_opening *opening,
	struct error *err)
{
	struct error why = *err;
	int r;

	close_database(w);
	drop_seeds(opening);
	w->file.mark = STORE_CLOSED;
	r = store_file_set_aside(&w->file, &why, err);
	*err = r < 0 ? *err : (struct error){ 0 };
	return r < 0 ? r : open_database(w, opening, err);
}

static int open_all(struct writer *w, struct store_opening *opening,
	struct error *err)
{
	int r = store_file_init(&w->file, w->store->path, err);

	if (r == 0) {
		r = open_database(w, opening, err);
		if (r == -EBADMSG && store_file_is_ours(&w->file)) {
			r = start_anew(w, opening, err);
		}
	}
	if (r == 0) {
		r = store_file_remember(&w->file, err);
	}
	if (r == 0) {
		opening->is_doubtful = w->file.mark == STORE_IN_USE;
		r = store_file_mark(&w->file, STORE_IN_USE, err);
	}
	return r;
}

static void publish_outbox(struct writer *w)
{
	uv_mutex_lock(&w->store->mutex);
	w->store->outbox = outbox_counts(w->outbox);
	uv_mutex_unlock(&w->store->mutex);
}

static bool open_store(struct writer *w)
{
	struct store_opening *opening = xcalloc(1, sizeof(*opening));
	bool is_open;

	opening->item.event = STORE_OPENED;
	is_open = open_all(w, opening, &opening->error) == 0;
	if (is_open) {
		publish_outbox(w);
	} else {
		drop_seeds(opening);
	}
	inbox_push(w->store->inbox, &opening->item.inbox);
	return is_open;
}

/* ---- writing ---- */

static int write_identity(struct writer *w,
	const struct store_identity *identity, struct error *err)
{
	int64_t node = 0;
	int r = 0;

	if (identity->node[0] != '\0') {
		r = tail_find_node(&node, w->tail, identity->node, err);
	}
	return r < 0 ? r
		     : places_identify(w->places, identity, node,
			       clock_wall_us() / 1000, err);
}

static int write_batch(struct writer *w, const struct store_batch *batch,
	struct error *err)
{
	struct tail_report report = { .run_id = batch->run_id,
		.stored_ms = clock_wall_us() / 1000 };
	int r;

	if (batch->is_decisions) {
		return decisions_write(w->decisions, batch, err);
	}
	if (batch->identity != NULL) {
		return write_identity(w, batch->identity, err);
	}
	if (batch->forwarded != 0) {
		return outbox_forget(w->outbox, batch->forwarded, err);
	}
	r = tail_find_node(&report.node, w->tail, batch->node, err);
	for (size_t i = 0; r == 0 && i < batch->count; i++) {
		const struct batch_row *row = &batch->rows[i];

		report.seq = row->seq;
		report.sample_ms = row->sample_ms;
		report.body = batch->bodies.data + row->offset;
		report.len = row->len;
		r = tail_add(w->tail, &report, err);
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
		outbox_rolled_back(w->outbox);
	} else {
		outbox_committed(w->outbox);
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

/* Damage is told to the next start at once: this process may be killed. */
static void note_damage(struct writer *w, const struct error *err)
{
	struct error error = { 0 };

	if (err->code == -EBADMSG) {
		atomic_store(&w->store->is_damaged, true);
	}
	if (atomic_load(&w->store->is_damaged) && !w->is_damage_marked) {
		w->is_damage_marked = true;
		log_error(
			"the database is damaged: the next start sets it "
			"aside",
			log_str("database", w->store->path), log_err(err),
			LOG_END);
		if (store_file_mark(&w->file, STORE_DAMAGED, &error) < 0) {
			complain(w, &error);
		}
	}
}

static void finish_group(struct writer *w, struct store_batch *group)
{
	struct error error = { 0 };
	size_t bytes = 0;
	uint64_t start_us = clock_monotonic_us();
	int r = write_group(w, group, &error);

	pace_note(&w->pace, clock_monotonic_us() - start_us);
	/* Committed, but into a file that nobody will find again. */
	if (r == 0) {
		r = store_file_look(&w->file, &error);
	}
	note_damage(w, &error);
	if (r < 0) {
		complain(w, &error);
		w->is_failing = true;
	} else if (w->is_failing) {
		log_info("the database takes writes again", LOG_END);
		w->is_failing = false;
	}
	for (struct store_batch *batch = group; batch != NULL;
		batch = batch->next) {
		batch->error = error;
		bytes += batch->held_bytes;
	}
	uv_mutex_lock(&w->store->mutex);
	w->store->queued_bytes -= bytes;
	w->store->outbox = outbox_counts(w->outbox);
	uv_mutex_unlock(&w->store->mutex);
	inbox_push(w->store->inbox, &group->item.inbox);
}

/* ---- the thread ---- */

static void keep_up(struct writer *w)
{
	struct error error = { 0 };

	if (upkeep_step(w->upkeep, &error) < 0) {
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

/* Waits for work, then a little for more of it, counted from when the first
 * came: it may have waited for a commit or for upkeep already. NULL: upkeep is
 * due, or the store stops and nothing is left. */
static struct store_batch *take_group(struct writer *w)
{
	struct store *store = w->store;
	struct store_batch *group;
	uint64_t end_us;

	uv_mutex_lock(&store->mutex);
	while (store->first_batch == NULL && !is_stopping(store) &&
		nanoseconds_until(upkeep_due_us(w->upkeep)) > 0) {
		(void)uv_cond_timedwait(&store->wake_writer, &store->mutex,
			nanoseconds_until(upkeep_due_us(w->upkeep)));
	}
	end_us = store->first_queued_us + pace_gather_us(&w->pace);
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
			keep_up(w);
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

/* Leaves one file behind rather than two. */
static void checkpoint(struct writer *w)
{
	struct error error = { 0 };

	if (store_db_exec(w->db, "PRAGMA wal_checkpoint(TRUNCATE)", &error) <
		0) {
		complain(w, &error);
	}
}

/* The next start reads it. */
static void mark_end(struct writer *w)
{
	struct error error = { 0 };

	if (store_file_mark(&w->file,
		    atomic_load(&w->store->is_damaged) ? STORE_DAMAGED
						       : STORE_CLOSED,
		    &error) < 0) {
		complain(w, &error);
	}
}

void store_writer_run(void *argument)
{
	struct store *store = argument;
	struct writer w = { .store = store, .file.lock = -1 };

	if (open_store(&w)) {
		write_until_stopped(&w);
		checkpoint(&w);
		close_database(&w);
		mark_end(&w);
	} else {
		close_database(&w);
		wait_for_stop(store);
	}
	store_file_fini(&w.file);
	inbox_push(store->inbox, &store->writer_end.inbox);
}
