/* Reports that wait to be forwarded: the queue on disk of remote write.
 *
 * It is a table of the store. A report is put there by the very transaction
 * that stores it, so all that is stored waits there exactly once, also after a
 * kill; one that is sent again by its agent is not. Beyond
 * store_options.outbox_bytes the oldest give way and are counted. What waits
 * outlives the process. */
#pragma once

#include "aggregator/store/store.h"

/* As of the last commit; all 0 until the store is open. */
struct store_outbox_counts {
	uint64_t reports, bytes; /* waiting */
	uint64_t dropped; /* reports that gave way since the store was opened */
};

struct store_outbox_counts store_outbox_count(struct store *store);

/* Whose pod a uid is, by what store_identify() was told. */
struct store_names;

struct store_name {
	char namespace[STORE_NAME_MAX], name[STORE_NAME_MAX];
};

/* False: nobody said. On the reader's thread, within end() only. */
bool store_names_find(struct store_name *out, const struct store_names *names,
	const char *pod_uid);

struct store_outbox_row {
	uint64_t
		id; /* rises with each report, also from one read to the next */
	const char *node;
	uint64_t sample_ms, stored_ms; /* unix time of this machine */
	/* May be taken, as that of store_row; NULL: it cannot be read. */
	struct report *report;
};

struct store_outbox_read {
	uint64_t after; /* an id; 0: from the oldest on */
	size_t most;	/* reports */
	/* On the reader's thread, by rising id, and borrowed; false ends it. */
	bool (*row)(void *owner, const struct store_outbox_row *row);
	/* On the reader's thread after the last row. */
	void (*end)(void *owner, const struct store_names *names);
	/* On the loop's thread; err is NULL if all went well. */
	void (*done)(void *owner, const struct error *err);
	void *owner;
};

/* As store_query(). */
must_check int store_outbox_read(struct store *store,
	const struct store_outbox_read *read, struct error *err);

/* Reports up to this id need not be kept any more; takes effect with the next
 * commit. -ENOBUFS, -ESHUTDOWN: as store_write(); nothing was changed. */
must_check int store_outbox_forget(struct store *store, uint64_t id,
	struct error *err);
