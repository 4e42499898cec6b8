/* The reports on disk, in a SQLite database.
 *
 * One thread commits writes in groups, and another one runs queries, so neither
 * a slow disk nor a long query blocks the event loop. Completions are called on
 * the loop's thread. Committed data survives a crash and a power cut. One
 * process at a time uses a database: it holds a lock on FILE.lock.
 *
 * The store survives failing writes (a full disk): they complete as not stored,
 * and store_last_error() gives the reason until a write succeeds. A disk that
 * is full at the start is no failure either. */
#pragma once

#include "aggregator/codec/report_schema.h"
#include "aggregator/series/rollup.h"
#include "lib/error.h"
#include "proto/report.h"

#include <uv.h>

enum {
	STORE_QUEUE_BYTES = 64 << 20, /* limit of what waits for the disk */
	STORE_READS_MAX = 32,	      /* queries waiting or running */
};

struct packed_report;
struct store;
struct store_batch;

/* One stored report; valid during a call. */
struct store_row {
	const char *node;
	const uint8_t *run_id; /* REPORT_RUN_ID_BYTES */
	uint64_t sample_ms;    /* by this machine's wall clock */
	struct report *report; /* as it was written; may be moved away */
};

/* Resolutions of history; each has its own retention. */
enum store_tier {
	STORE_RAW, /* reports */
	STORE_1M,  /* minutes, see series/rollup.h */
	STORE_1H,  /* hours */
	STORE_TIERS,
};

/* Namespace, name or UID of a VM, with the NUL. */
enum { STORE_NAME_MAX = 254 };

struct store_options {
	const char *path;
	/* By enum store_tier. Older data is deleted, in whole days for reports
	 * and minutes, in 32 days at a time for hours. */
	uint64_t retention_us[STORE_TIERS];
	uint64_t max_bytes;  /* 0: no limit (store/size_limit.h) */
	uint64_t compact_us; /* reports of this age are packed into chunks */
	/* All on the loop's thread. last_report gets the last report of each
	 * node; then opened is called with NULL if the store is open. If the
	 * disk is full, opened is called with -ENOSPC first: the store takes
	 * writes, which fail, until it is open or opened gets another error. */
	void (*last_report)(void *owner, const struct store_row *row);
	void (*opened)(void *owner, const struct error *err);
	void (*closed)(void *owner);
	void *owner;
	uint64_t decisions_kept_us; /* older decisions, moves are deleted */
	uint64_t outbox_bytes;	    /* see store/outbox.h; 0: no outbox */
};

/* Opens the store in the background, then calls opened. Never NULL. */
struct store *store_new(uv_loop_t *loop, const struct store_options *options);

/* Commits the queue, ends queries with -ECANCELED and closes. closed is called
 * after all completions; then the store frees itself. */
void store_close(struct store *store);

/* Why reports are not being stored; "" if they are. Borrowed. */
const char *store_last_error(const struct store *store);

/* Packed reports of a batch. Those of one message pack to about the size of the
 * message, of which this is twice the maximum. */
enum { STORE_BATCH_BYTES_MAX = 8 << 20 };

struct store_batch *store_batch_new(const char *node, const uint8_t *run_id);
/* Copies a report into the batch. */
void store_batch_add(struct store_batch *batch, uint64_t seq,
	uint64_t sample_ms, const struct packed_report *packed);
void store_batch_free(struct store_batch *batch); /* NULL is fine */

/* Called after the commit, or its failure; err is NULL if the batch is stored.
 * Reports that were stored before count as stored. -EDQUOT: the store refuses
 * this batch, other batches are not affected, and writing it again does not
 * help. Any other error concerns the database. */
typedef void (*store_written)(void *owner, const struct error *err);

/* Queues the batch, which the store then owns; done, if not NULL, is called
 * later. -ENOBUFS: the queue is full; -ESHUTDOWN: neither open nor waiting for
 * space, or closing; the caller still owns the batch then. */
must_check int store_write(struct store *store, struct store_batch *batch,
	store_written done, void *owner, struct error *err);

struct store_vm {
	const char *pod_uid, *namespace, *name, *vmi_uid;
	const char *node; /* of the pod; "": not known */
};

/* Records which VM and node a pod belongs to; the pods of one namespace and
 * name make one VM. Replaces an earlier record, but for a node that is not
 * known. Texts are copied, cut at STORE_NAME_MAX - 1. Errors are those of
 * store_write(), whose done may be NULL. */
must_check int store_identify(struct store *store, const struct store_vm *vm,
	store_written done, void *owner, struct error *err);

/* One rolled-up minute or hour; valid during a call. */
struct store_rollup {
	const char *node;
	const char *pod_uid; /* "": the node itself */
	const struct rollup_row *row;
};

/* A query for the history of a node, or, with node "", of a VM: of each of its
 * pods on the pod's own node, pod after pod. */
struct store_read {
	char node[REPORT_NODE_MAX];
	char namespace[STORE_NAME_MAX], name[STORE_NAME_MAX];
	enum store_tier tier;
	unsigned int parts;	 /* enum schema_part: what reports must hold */
	uint64_t from_ms, to_ms; /* sample times; to is exclusive */
	/* Minutes and hours may have been computed a moment ago: see
	 * store/computed_hours.h. */
	bool may_be_kept;
	/* On the reader's thread, by rising time; false ends the query. row
	 * gets STORE_RAW: all reports of the node; if a VM was asked for, vms
	 * holds only its pod. rollup gets the other tiers, also of hours that
	 * are not rolled up yet. */
	bool (*row)(void *owner, const struct store_row *row);
	bool (*rollup)(void *owner, const struct store_rollup *rollup);
	/* On the loop's thread; err is NULL if all rows were delivered.
	 * -ENOENT: the node or VM, or the node of a VM's pods, is not
	 * known. */
	void (*done)(void *owner, const struct error *err);
	void *owner;
};

/* Queues a query; done is called later.
 * -EBUSY: too many are waiting; -ESHUTDOWN: not open, or closing. */
must_check int store_query(struct store *store, const struct store_read *read,
	struct error *err);

/* The version of SQLite that the program runs with. */
const char *store_library_version(void);
