/* Shared by store/store.c, which runs on the event loop, and the threads that
 * use SQLite. Only files of this room include this.
 *
 * Everything that is passed between threads begins with a store_item.
 * store.mutex guards the queues. A batch or query belongs to the thread that
 * took it from its queue, until that thread pushes it into the inbox. */
#pragma once

#include "aggregator/store/last_reports.h"
#include "aggregator/store/outbox.h"
#include "aggregator/store/records.h"
#include "aggregator/store/stats.h"
#include "lib/buffer.h"
#include "lib/inbox.h"

#include <stdatomic.h>

enum store_event {
	STORE_OPENED,
	STORE_WRITTEN,
	STORE_QUERIED,
	STORE_THREAD_ENDED,
};

struct store_item {
	struct inbox_item inbox;
	enum store_event event;
};

/* A packed report or record in store_batch.bodies. */
struct batch_entry {
	uint64_t seq, sample_ms; /* of a report */
	size_t offset, len;
};

/* The arguments of store_identify(). */
struct store_identity {
	char pod_uid[REPORT_UID_MAX];
	char node[REPORT_NODE_MAX];	  /* "": not known */
	char *namespace, *name, *vmi_uid; /* owned */
};

enum store_batch_kind {
	STORE_BATCH_REPORTS, /* or an identity, or a number to delete */
	STORE_BATCH_DECISIONS,
	STORE_BATCH_MOVES,
};

struct store_batch {
	struct store_item item;
	/* node, run_id, seq and sample_ms are of reports alone. */
	enum store_batch_kind kind;
	struct store_batch *next; /* in the queue, or in its group */
	char node[REPORT_NODE_MAX];
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	struct batch_entry *entries;
	size_t count, capacity;
	struct buffer bodies;
	struct store_identity *identity; /* instead of entries; or NULL */
	uint64_t forwarded; /* an id for outbox_table_delete(), or 0 */
	size_t held_bytes;  /* of memory; set when the batch is queued */
	store_written done; /* or NULL */
	void *owner;
	struct error error; /* code 0: stored; see store_written */
};

enum { STORE_GROUP_BYTES = 8 << 20 }; /* at this size a group is committed */
enum store_job_kind {
	STORE_JOB_READ,
	STORE_JOB_DECISIONS,
	STORE_JOB_MOVES,
	STORE_JOB_OUTBOX,
};

struct store_job { /* a query */
	struct store_item item;
	struct store_job *next;
	enum store_job_kind kind;
	union {
		struct store_read read;
		struct store_decisions_read decisions;
		struct store_moves_read moves;
		struct outbox_read outbox;
	};
	struct error error; /* code 0: all rows were delivered */
};

struct store_opening {
	struct store_item item;
	struct last_reports last_reports;
	bool is_doubtful;   /* the database was not closed cleanly */
	struct error error; /* code 0: open */
};

struct store {
	struct store_options options;
	char *path;
	struct inbox *inbox;
	uv_thread_t writer, reader, checker;
	/* guarded by mutex */
	uv_mutex_t mutex;
	uv_cond_t wake_writer, wake_reader;
	struct store_batch *first_batch, **last_batch;
	uint64_t first_queued_us; /* while there is a first_batch */
	size_t queued_bytes;	  /* in the queue and in the writer's group */
	struct outbox_counts outbox;
	struct store_stats stats; /* 0 database_bytes: not counted yet */
	struct store_job *first_job, **last_job;
	_Atomic bool stopping;	 /* set by the event loop, read by all */
	_Atomic bool is_damaged; /* set by the thread that finds damage */
	/* used by the event loop only */
	bool is_open;
	bool is_waiting; /* for space to open; takes writes, which fail */
	size_t threads, jobs;
	char last_error[320];
	struct store_item writer_end, reader_end, checker_end;
};

/* Never NULL. */
struct store_batch *store_batch_of(enum store_batch_kind kind);
/* Adds the entry of what bodies hold from entry.offset on. */
void store_batch_entry(struct store_batch *batch, struct batch_entry entry);

/* Queues a copy of *job. Errors are those of store_query(). */
must_check int store_submit(struct store *store, const struct store_job *job,
	struct error *err);

/* The threads; the argument is the store. The writer opens the database,
 * commits batches in groups and runs maintenance between them. The reader runs
 * queries; it starts once the database is open. The checker starts only if the
 * database was not closed cleanly the last time: it reads the whole file once
 * and looks for damage. */
void writer_run(void *argument);
void reader_run(void *argument);
void checker_run(void *argument);
