#include "aggregator/store/store.h"

#include "aggregator/store/thread.h"
#include "lib/clock.h"
#include "lib/memory.h"
#include "proto/wire.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void on_item(void *owner, struct inbox_item *item);

static void start_thread(struct store *store, uv_thread_t *thread,
	uv_thread_cb run)
{
	if (uv_thread_create(thread, run, store) != 0) {
		abort();
	}
	store->threads++;
}

struct store *store_new(uv_loop_t *loop, const struct store_options *options)
{
	struct store *store = xcalloc(1, sizeof(*store));

	store->options = *options;
	store->path = xstrdup(options->path);
	store->last_batch = &store->first_batch;
	store->last_job = &store->first_job;
	if (uv_mutex_init(&store->mutex) != 0 ||
		uv_cond_init(&store->wake_writer) != 0 ||
		uv_cond_init(&store->wake_reader) != 0) {
		abort();
	}
	store->writer_end.event = STORE_THREAD_ENDED;
	store->reader_end.event = STORE_THREAD_ENDED;
	store->checker_end.event = STORE_THREAD_ENDED;
	store->inbox = inbox_new(loop, on_item, store);
	start_thread(store, &store->writer, writer_run);
	return store;
}

void store_close(struct store *store)
{
	atomic_store(&store->stopping, true);
	uv_mutex_lock(&store->mutex);
	uv_cond_signal(&store->wake_writer);
	uv_cond_signal(&store->wake_reader);
	uv_mutex_unlock(&store->mutex);
}

const char *store_last_error(const struct store *store)
{
	return store->last_error;
}

/* ---- completions ---- */

static void on_opened(struct store *store, struct store_opening *opening)
{
	bool failed = opening->error.code != 0;

	store->is_open = !failed;
	store->is_waiting = opening->error.code == -ENOSPC;
	(void)snprintf(store->last_error, sizeof(store->last_error), "%s",
		store->is_waiting ? opening->error.text : "");
	for (size_t i = 0; i < opening->last_reports.count; i++) {
		struct last_report *last = &opening->last_reports.list[i];
		struct store_row row = { last->node, last->run_id,
			last->sample_ms, &last->report };

		if (row.sample_ms != UINT64_MAX) {
			store->options.last_report(store->options.owner, &row);
		}
	}
	last_reports_fini(&opening->last_reports);
	if (!failed && !atomic_load(&store->stopping)) {
		start_thread(store, &store->reader, reader_run);
		if (opening->is_doubtful) {
			start_thread(store, &store->checker, checker_run);
		}
	}
	store->options.opened(store->options.owner,
		failed ? &opening->error : NULL);
	free(opening);
}

static void on_written(struct store *store, struct store_batch *group)
{
	store->last_error[0] = '\0';
	while (group != NULL) {
		struct store_batch *batch = group;
		const struct error *err =
			batch->error.code == 0 ? NULL : &batch->error;

		group = batch->next;
		if (err != NULL && err->code != -EDQUOT) {
			(void)snprintf(store->last_error,
				sizeof(store->last_error), "%s", err->text);
		}
		if (batch->done != NULL) {
			batch->done(batch->owner, err);
		}
		store_batch_free(batch);
	}
}

static void on_queried(struct store *store, struct store_job *job)
{
	const struct error *err = job->error.code == 0 ? NULL : &job->error;

	store->jobs--;
	switch (job->kind) {
	case STORE_JOB_READ:
		job->read.done(job->read.owner, err);
		break;
	case STORE_JOB_DECISIONS:
		job->decisions.done(job->decisions.owner, err);
		break;
	case STORE_JOB_MOVES:
		job->moves.done(job->moves.owner, err);
		break;
	case STORE_JOB_OUTBOX:
		job->outbox.done(job->outbox.owner, err);
		break;
	}
	free(job);
}

/* Ends the queries that the reader did not take. */
static void cancel_jobs(struct store *store)
{
	while (store->first_job != NULL) {
		struct store_job *job = store->first_job;

		store->first_job = job->next;
		(void)error_set(&job->error, -ECANCELED, "shutting down");
		on_queried(store, job);
	}
}

static void on_thread_ended(struct store *store, const struct store_item *item)
{
	uv_thread_t *thread = item == &store->writer_end ? &store->writer
		: item == &store->reader_end		 ? &store->reader
							 : &store->checker;

	(void)uv_thread_join(thread);
	store->threads--;
	if (store->threads > 0) {
		return;
	}
	cancel_jobs(store);
	inbox_close(store->inbox);
	store->options.closed(store->options.owner);
	uv_cond_destroy(&store->wake_writer);
	uv_cond_destroy(&store->wake_reader);
	uv_mutex_destroy(&store->mutex);
	free(store->path);
	free(store);
}

static void on_item(void *owner, struct inbox_item *inbox_item)
{
	struct store_item *item = (struct store_item *)inbox_item;

	switch (item->event) {
	case STORE_OPENED:
		on_opened(owner, (struct store_opening *)item);
		break;
	case STORE_WRITTEN:
		on_written(owner, (struct store_batch *)item);
		break;
	case STORE_QUERIED:
		on_queried(owner, (struct store_job *)item);
		break;
	case STORE_THREAD_ENDED:
		on_thread_ended(owner, item);
		break;
	}
}

/* ---- requests ---- */

struct store_batch *store_batch_of(enum store_batch_kind kind)
{
	struct store_batch *batch = xcalloc(1, sizeof(*batch));

	batch->bodies = BUFFER_MAX(STORE_BATCH_BYTES_MAX);
	batch->item.event = STORE_WRITTEN;
	batch->kind = kind;
	return batch;
}

struct store_batch *store_batch_new(const char *node, const uint8_t *run_id)
{
	struct store_batch *batch = store_batch_of(STORE_BATCH_REPORTS);

	(void)snprintf(batch->node, sizeof(batch->node), "%s", node);
	memcpy(batch->run_id, run_id, REPORT_RUN_ID_BYTES);
	return batch;
}

void store_batch_entry(struct store_batch *batch, struct batch_entry entry)
{
	batch->entries = xgrow(batch->entries, batch->count, &batch->capacity,
		sizeof(*batch->entries));
	entry.len = batch->bodies.len - entry.offset;
	batch->entries[batch->count++] = entry;
}

void store_batch_add(struct store_batch *batch, uint64_t seq,
	uint64_t sample_ms, const struct packed_report *packed)
{
	size_t offset = batch->bodies.len;

	buffer_append(&batch->bodies, packed->bytes, packed->len);
	store_batch_entry(batch,
		(struct batch_entry){ .seq = seq,
			.sample_ms = sample_ms,
			.offset = offset });
}

void store_batch_free(struct store_batch *batch)
{
	if (batch != NULL) {
		buffer_fini(&batch->bodies);
		free(batch->entries);
		if (batch->identity != NULL) {
			free(batch->identity->namespace);
			free(batch->identity->name);
			free(batch->identity->vmi_uid);
			free(batch->identity);
		}
		free(batch);
	}
}

static bool takes_writes(const struct store *store)
{
	return (store->is_open || store->is_waiting) &&
		!atomic_load(&store->stopping);
}

/* The caller holds the mutex. The first batch of a group wakes the writer, and
 * so does the one that fills the group. */
static void enqueue(struct store *store, struct store_batch *batch)
{
	bool is_first = store->first_batch == NULL;

	if (is_first) {
		store->first_queued_us = clock_monotonic_us();
	}
	*store->last_batch = batch;
	store->last_batch = &batch->next;
	store->queued_bytes += batch->held_bytes;
	if (is_first || store->queued_bytes >= STORE_GROUP_BYTES) {
		uv_cond_signal(&store->wake_writer);
	}
}

int store_write(struct store *store, struct store_batch *batch,
	store_written done, void *owner, struct error *err)
{
	bool has_room;

	if (!takes_writes(store)) {
		return error_set(err, -ESHUTDOWN, "the store is not open");
	}
	if (batch->bodies.overflowed) {
		return error_set(err, -ENOBUFS, "the batch is too large");
	}
	batch->done = done;
	batch->owner = owner;
	batch->held_bytes = sizeof(*batch) +
		batch->capacity * sizeof(*batch->entries) +
		batch->bodies.capacity +
		(batch->identity == NULL ? 0
					 : sizeof(*batch->identity) +
					(size_t)3 * STORE_NAME_MAX);
	uv_mutex_lock(&store->mutex);
	has_room = store->queued_bytes + batch->held_bytes <= STORE_QUEUE_BYTES;
	if (has_room) {
		enqueue(store, batch);
	}
	uv_mutex_unlock(&store->mutex);
	if (!has_room) {
		(void)snprintf(store->last_error, sizeof(store->last_error),
			"the disk is too slow: %d MiB are waiting for it",
			STORE_QUEUE_BYTES >> 20);
		return error_set(err, -ENOBUFS, "%s", store->last_error);
	}
	return 0;
}

int store_identify(struct store *store, const struct store_vm *vm,
	store_written done, void *owner, struct error *err)
{
	static const uint8_t no_run[REPORT_RUN_ID_BYTES];
	struct store_batch *batch = store_batch_new("", no_run);
	struct store_identity *identity = xcalloc(1, sizeof(*identity));
	int r;

	(void)snprintf(identity->pod_uid, sizeof(identity->pod_uid), "%s",
		vm->pod_uid);
	(void)snprintf(identity->node, sizeof(identity->node), "%s", vm->node);
	identity->namespace = xstrndup(vm->namespace, STORE_NAME_MAX - 1);
	identity->name = xstrndup(vm->name, STORE_NAME_MAX - 1);
	identity->vmi_uid = xstrndup(vm->vmi_uid, STORE_NAME_MAX - 1);
	batch->identity = identity;
	r = store_write(store, batch, done, owner, err);
	if (r < 0) {
		store_batch_free(batch);
	}
	return r;
}

int store_submit(struct store *store, const struct store_job *job,
	struct error *err)
{
	struct store_job *copy;

	if (!store->is_open || atomic_load(&store->stopping)) {
		return error_set(err, -ESHUTDOWN, "the store is not open");
	}
	if (store->jobs == STORE_READS_MAX) {
		return error_set(err, -EBUSY, "%d queries are already waiting",
			STORE_READS_MAX);
	}
	store->jobs++;
	copy = xmemdup(job, sizeof(*job));
	copy->item.event = STORE_QUERIED;
	uv_mutex_lock(&store->mutex);
	*store->last_job = copy;
	store->last_job = &copy->next;
	uv_cond_signal(&store->wake_reader);
	uv_mutex_unlock(&store->mutex);
	return 0;
}

int store_query(struct store *store, const struct store_read *read,
	struct error *err)
{
	return store_submit(store, &(const struct store_job){ .read = *read },
		err);
}

const char *store_library_version(void)
{
	return sqlite3_libversion();
}
