/* The reports on disk.
 *
 * Writes are committed in groups by a thread of its own, reads run on another,
 * so neither a slow disk nor a long query holds up the loop; completions come
 * back to the loop. What was committed survives a crash and a power cut. One
 * process holds a database, by a lock on FILE.lock. Only store*.c know that
 * this is SQLite.
 *
 * Failing writes (a full disk) are no end: they complete as not stored and
 * store_trouble() says why; the first write that goes through clears it. */
#pragma once

#include "aggregator/codec/report_schema.h"
#include "aggregator/series/rollup.h"
#include "lib/error.h"
#include "proto/decision.h"
#include "proto/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum {
	STORE_QUEUE_BYTES = 64 << 20, /* waiting for the disk at most */
	STORE_READS_MAX = 32,	      /* waiting or running */
};

struct packed_report;
struct store;
struct store_batch;

/* One stored report; borrowed during a call. */
struct store_row {
	const char *node;
	const uint8_t *run_id; /* REPORT_RUN_ID_BYTES */
	uint64_t sample_ms;    /* when it was taken, by this machine's wall */
	struct report *report; /* as it was written; may be moved away */
};

/* How finely the past is kept, and for how long each. */
enum store_tier {
	STORE_RAW, /* reports as they came */
	STORE_1M,  /* minutes, see rollup.h */
	STORE_1H,  /* hours */
	STORE_TIERS,
};

/* Of a pod and VM, with the NUL. */
enum { STORE_NAME_MAX = 254 };

struct store_options {
	const char *path;
	/* What is older than this is deleted, in whole days for raw reports
	 * and minutes, in months for hours; by enum store_tier. */
	uint64_t retention_us[STORE_TIERS];
	uint64_t max_bytes; /* beyond it the oldest raw day goes; 0: no limit */
	uint64_t compact_us; /* reports are packed into chunks at this age */
	/* All on the loop's thread. seed gets the last report of each node,
	 * then opened comes, once; err is NULL if the store can be used. */
	void (*seed)(void *owner, const struct store_row *row);
	void (*opened)(void *owner, const struct error *err);
	void (*closed)(void *owner);
	void *owner;
	uint64_t decisions_kept_us; /* decision records are deleted later */
	uint64_t outbox_bytes;	    /* see store_outbox.h; 0: there is none */
};

/* Opens in the background; opened says how it went. Never NULL. */
struct store *store_new(uv_loop_t *loop, const struct store_options *options);

/* Commits what is queued, ends reads with -ECANCELED, closes. All completions
 * have come when closed is called; the store frees itself after that. */
void store_close(struct store *store);

/* Why reports are not stored at present; "" if they are. Borrowed. */
const char *store_trouble(const struct store *store);

struct store_batch *store_batch_new(const char *node, const uint8_t *run_id);
/* Copies a report into the batch. */
void store_batch_add(struct store_batch *batch, uint64_t seq,
	uint64_t sample_ms, const struct packed_report *packed);
void store_batch_free(struct store_batch *batch); /* NULL is fine */

/* A batch of decision records instead, for the same store_write(). */
struct store_batch *store_decisions_new(void);
void store_decisions_add(struct store_batch *batch,
	const struct decision_record *record);

/* Called when the batch's fate is known. Reports that were there already count
 * as stored. */
typedef void (*store_written)(void *owner, bool is_stored);

/* Queues the batch, which is the store's from here on; done follows.
 * -ENOBUFS: the queue is full; -ESHUTDOWN: not open, or closing; the batch
 * remains the caller's. */
must_check int store_write(struct store *store, struct store_batch *batch,
	store_written done, void *owner, struct error *err);

struct store_vm {
	const char *pod_uid, *namespace, *name, *vmi_uid;
	const char *node; /* where the pod is; "": not said */
};

/* Says whose pod a uid is: series of one namespace and name belong together.
 * The last word counts. Texts are copied, cut at STORE_NAME_MAX - 1.
 * -ENOBUFS: too much waits for the disk; -ESHUTDOWN: not open, or closing. */
must_check int store_identify(struct store *store, const struct store_vm *vm,
	struct error *err);

/* One rolled-up minute or hour; borrowed during a call. */
struct store_rollup {
	const char *node;
	const char *pod_uid; /* "": the node itself */
	const struct rollup_row *row;
};

/* Whose past: `node` alone is the node's; with `pod_uid` that pod's; `namespace`
 * and `name` without a node are a VM's, pod after pod. */
struct store_read {
	char node[REPORT_NODE_MAX];
	char pod_uid[REPORT_UID_MAX];
	char namespace[STORE_NAME_MAX], name[STORE_NAME_MAX];
	enum store_tier tier;
	unsigned int parts;	 /* enum fields_part: what reports must hold */
	uint64_t from_ms, to_ms; /* of sample times; to is exclusive */
	/* On the reader's thread, by rising time; false ends it. row gets
	 * STORE_RAW: all of the node's reports, with the one pod that is asked
	 * for alone in vms. rollup gets the other tiers, made if need be. */
	bool (*row)(void *owner, const struct store_row *row);
	bool (*rollup)(void *owner, const struct store_rollup *rollup);
	/* On the loop's thread; err is NULL if all rows were given.
	 * -ENOENT: no pod of that uid or VM is known. */
	void (*done)(void *owner, const struct error *err);
	void *owner;
};

/* Queues a query; done follows.
 * -EBUSY: too many are waiting; -ESHUTDOWN: not open, or closing. */
must_check int store_query(struct store *store, const struct store_read *read,
	struct error *err);

enum { STORE_DECISIONS_MAX = 1000 }; /* given by one query */

/* Decision records, newest first. */
struct store_decisions_read {
	char namespace[DECISION_NAME_MAX];
	char pod[DECISION_NAME_MAX]; /* "": of all pods */
	uint64_t from_ms, to_ms;     /* when they were made; to is exclusive */
	size_t limit;		     /* up to STORE_DECISIONS_MAX */
	/* On the reader's thread; false ends it. */
	bool (*record)(void *owner, const struct decision_record *record);
	/* On the loop's thread; err is NULL if all were given. */
	void (*done)(void *owner, const struct error *err);
	void *owner;
};

/* As store_query(). */
must_check int store_query_decisions(struct store *store,
	const struct store_decisions_read *read, struct error *err);
