/* The table behind store_outbox.h. On the store's own threads; only store*.c
 * include this. */
#pragma once

#include "aggregator/store/head.h"
#include "aggregator/store/thread.h"

struct outbox;

/* Creates the table where there is none. bytes_max 0: nothing is put there,
 * and what an earlier process left stays as it is.
 * -errno by what SQLite says. */
must_check int outbox_new(struct outbox **out, struct sqlite3 *db,
	uint64_t bytes_max, struct error *err);
void outbox_free(struct outbox *outbox); /* NULL is fine */

/* Inside a transaction: appends a report, and deletes as many of the oldest as
 * are too much then. */
must_check int outbox_add(struct outbox *outbox,
	const struct tail_report *report, struct error *err);

/* Inside a transaction: deletes all up to this id. */
must_check int outbox_forget(struct outbox *outbox, uint64_t id,
	struct error *err);

/* The transaction is over. */
void outbox_committed(struct outbox *outbox);
void outbox_rolled_back(struct outbox *outbox);

struct store_outbox_counts outbox_counts(const struct outbox *outbox);

/* Gives what is asked for; on the reader's connection. */
must_check int outbox_read(struct sqlite3 *db,
	const struct store_outbox_read *read, struct error *err);
