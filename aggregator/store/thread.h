/* Between store.c, which belongs to the loop, and the two threads that talk to
 * SQLite. Nobody else includes this.
 *
 * Whatever travels begins with a store_item. The queues are guarded by
 * store.mutex; a batch or query belongs to the thread that took it out, until
 * it is pushed into the inbox. */
#pragma once

#include "aggregator/store/outbox.h"
#include "lib/buffer.h"
#include "lib/inbox.h"

#include <stdatomic.h>

struct sqlite3;
struct sqlite3_stmt;

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

/* A packed report's place in store_batch.bodies. */
struct batch_row {
	uint64_t seq, sample_ms;
	size_t offset, len;
};

/* What store_identify() was told. */
struct store_identity {
	char pod_uid[REPORT_UID_MAX];
	char node[REPORT_NODE_MAX];	  /* "": not said */
	char *namespace, *name, *vmi_uid; /* owned */
};

struct store_batch {
	struct store_item item;
	struct store_batch *next; /* in the queue, or the group it is of */
	char node[REPORT_NODE_MAX];
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	struct batch_row *rows;
	size_t count, capacity;
	struct buffer bodies;
	bool is_decisions; /* not reports: node, run_id and seq say nothing */
	struct store_identity *identity; /* instead of rows; or NULL */
	uint64_t forwarded;		 /* an id for outbox_forget(), or 0 */
	size_t held_bytes;  /* memory it takes; set when it is queued */
	store_written done; /* NULL: nobody waits */
	void *owner;
	struct error error; /* code 0: stored */
};

enum { STORE_GROUP_BYTES = 8 << 20 }; /* the writer gathers no more */
enum store_job_kind { STORE_JOB_READ, STORE_JOB_DECISIONS, STORE_JOB_OUTBOX };

struct store_job { /* a query */
	struct store_item item;
	struct store_job *next;
	enum store_job_kind kind;
	union {
		struct store_read read;
		struct store_decisions_read decisions;
		struct store_outbox_read outbox;
	};
	struct error error; /* code 0: all rows were given */
};

struct store_seed {
	char *node;
	int64_t number; /* of the node, in the database */
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	uint64_t sample_ms;
	struct report report; /* sample_ms is UINT64_MAX where there is none */
};

struct store_opening {
	struct store_item item;
	struct store_seed *seeds;
	size_t count, capacity;
	bool is_doubtful;   /* it was not closed the last time */
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
	size_t queued_bytes;	  /* waiting, and in the group being written */
	struct store_outbox_counts outbox;
	struct store_job *first_job, **last_job;
	_Atomic bool stopping;	 /* set by the loop, read by all */
	_Atomic bool is_damaged; /* whoever sees it of the database says so */
	/* the loop's */
	bool is_open;
	size_t threads, jobs;
	char trouble[320];
	struct store_item writer_end, reader_end, checker_end;
};

/* Thread bodies; the argument is the store. The writer opens the database and
 * makes its schema; the reader runs only after that went well, and the checker,
 * which reads the whole file once, only if it was not closed the last time. */
void store_writer_run(void *argument);
void store_reader_run(void *argument);
void store_checker_run(void *argument);

/* Queues what is asked for in *asked, which is copied; as store_query(). */
must_check int store_submit(struct store *store, const struct store_job *asked,
	struct error *err);

/* A connection with our settings. -errno by what SQLite says:
 * -ENOSPC, -EIO, -EBUSY, -EBADMSG (not a database, damaged); -EROFS (it may
 * only be read), -EINVAL (the path names no file). */
must_check int store_db_open(struct sqlite3 **out, const char *path,
	struct error *err);

/* Only reads. -EINVAL: another program made the database; -EBADMSG: damaged.
 * 0 if there is none. */
must_check int store_db_check_owner(const char *path, struct error *err);

/* Creates the schema, finds it, or makes it of an older one, which takes its
 * time. -ENOTSUP: made by a newer version; -ECANCELED: *stopping. */
must_check int store_db_prepare_schema(struct sqlite3 *db,
	const _Atomic bool *stopping, struct error *err);

/* -ENOTSUP: of another format than the one that this program writes. */
must_check int store_db_check_format(struct sqlite3 *db, struct error *err);
/* From format 1, where each report was a row for good, in transactions of some
 * thousand reports: whoever is killed meanwhile goes on the next time. schema
 * makes the tables of format 2 and says so. -ECANCELED: *stopping. */
must_check int store_migrate(struct sqlite3 *db, const char *schema,
	const _Atomic bool *stopping, struct error *err);

must_check int store_db_exec(struct sqlite3 *db, const char *sql,
	struct error *err);
must_check int store_db_prepare(struct sqlite3_stmt **out, struct sqlite3 *db,
	const char *sql, struct error *err);

/* Finds the newest report of each node. */
must_check int store_read_seeds(struct store_opening *opening,
	struct sqlite3 *db, struct error *err);

/* Ends a transaction that failed. */
void store_db_rollback(struct sqlite3 *db);

/* Turns the connection's last error into ours. */
int store_db_error(struct sqlite3 *db, struct error *err, const char *what);
