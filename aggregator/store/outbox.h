/* Reports that wait for remote write: a queue on disk.
 *
 * The queue is a table of the store. The transaction that stores a report also
 * queues it, so each stored report is queued exactly once, even if the process
 * is killed or the agent sends the report again. Above
 * store_options.outbox_bytes the oldest reports are dropped and counted. The
 * queue survives a restart.
 *
 * The queue consists of shards. All reports of a node are in one of them, in
 * the order of storing, for as long as the database exists. Each shard is read
 * and deleted by itself. */
#pragma once

#include "aggregator/store/store.h"

/* On disk, an id says its shard, and the node's number says the shard of a
 * report: another number needs a conversion (store/outbox_convert.h). */
enum { OUTBOX_SHARDS = 8 };

struct outbox_shard_counts {
	uint64_t reports;   /* in the queue */
	uint64_t last_id;   /* of the newest report; 0: none */
	uint64_t oldest_ms; /* when the oldest was stored, unix time; 0: none */
};

/* State after the last commit; all 0 until the store is open. */
struct outbox_counts {
	struct outbox_shard_counts shards[OUTBOX_SHARDS];
	uint64_t reports, bytes; /* in the queue */
	uint64_t dropped;	 /* reports, since the store was opened */
};

struct outbox_counts outbox_count(struct store *store);

/* Names of VMs by pod and node, from store_identify(). */
struct store_names;

struct store_name {
	char namespace[STORE_NAME_MAX], name[STORE_NAME_MAX];
};

/* False: not known, or the pod is not on this node. On the reader's thread,
 * within end() only. */
bool store_names_find(struct store_name *out, const struct store_names *names,
	const char *pod_uid, const char *node);

struct outbox_row {
	uint64_t id; /* of the shard; rises with each of its reports */
	const char *node;
	uint64_t sample_ms, stored_ms; /* unix time of this machine */
	/* May be moved away, as in store_row. NULL: cannot be read. */
	struct report *report;
};

struct outbox_read {
	size_t shard;
	uint64_t after; /* an id; 0: from the shard's oldest report on */
	size_t most;	/* reports */
	/* On the reader's thread, by rising id; false ends the query. */
	bool (*row)(void *owner, const struct outbox_row *row);
	/* On the reader's thread, after the last row. */
	void (*end)(void *owner, const struct store_names *names);
	/* On the loop's thread; err is NULL on success. */
	void (*done)(void *owner, const struct error *err);
	void *owner;
};

/* Errors are those of store_query(). */
must_check int outbox_read(struct store *store, const struct outbox_read *read,
	struct error *err);

/* Deletes the reports of the id's shard up to this id with the next commit.
 * Errors are those of store_write(). */
must_check int outbox_delete(struct store *store, uint64_t id,
	struct error *err);
