/* Tables for packed data: one table a day for chunks and for minutes, one for
 * 32 days of hours, so that old data can be dropped by table.
 *
 * Each row holds a blob of one node and one hour of unix time, and the first
 * and last times in it. Rowids rise in the order of writing, because appended
 * blobs fill pages; blobs of 6 KB that are keyed by node take 30 % more on the
 * disk. */
#pragma once

#include "aggregator/store/store.h"

struct sqlite3;
struct sqlite3_stmt;

#define PARTITION_HOUR_MS UINT64_C(3600000)

/* The beginning of an hour of unix time. */
static inline uint64_t partition_hour(uint64_t ms)
{
	return ms / PARTITION_HOUR_MS * PARTITION_HOUR_MS;
}

/* Milliseconds that one table of a tier covers. */
uint64_t partition_span_ms(enum store_tier tier);

struct partition_blob {
	int64_t node;
	uint64_t from_ms, to_ms; /* first and last time in it */
	const void *body;
	size_t len;
};

/* Adds a blob to the table of its from_ms, which is created if need be. */
must_check int partition_add(struct sqlite3 *db, enum store_tier tier,
	const struct partition_blob *blob, struct error *err);

/* Deletes a node's blobs of the hour that begins at hour_ms. */
must_check int partition_delete(struct sqlite3 *db, enum store_tier tier,
	int64_t node, uint64_t hour_ms, struct error *err);

/* Reads a tier hour by hour with the same statements for one table, because
 * preparing a statement takes longer than running it. Zeroed except for the
 * tier at first. */
struct partition_reader {
	enum store_tier tier;
	struct sqlite3_stmt *select, *list, *get; /* NULL: none yet */
	uint64_t table; /* of the statements, from 1970 on */
};

/* Gives a statement that selects the bodies of a node's blobs of the hour that
 * begins at hour_ms. The reader owns the statement; the caller resets it. NULL:
 * the table does not exist. */
must_check int partition_select(struct sqlite3_stmt **out,
	struct partition_reader *reader, struct sqlite3 *db, int64_t node,
	uint64_t hour_ms, struct error *err);
void partition_reader_fini(struct partition_reader *reader);

/* The same for a list of these blobs without their bodies: id, from_ms, to_ms,
 * bytes of the body. */
must_check int partition_list(struct sqlite3_stmt **out,
	struct partition_reader *reader, struct sqlite3 *db, int64_t node,
	uint64_t hour_ms, struct error *err);

/* Gives a statement at the row with the body of a blob of the last list. The
 * reader owns the statement; the caller resets it. */
must_check int partition_get(struct sqlite3_stmt **out,
	struct partition_reader *reader, struct sqlite3 *db, int64_t id,
	struct error *err);

/* Gives a statement at the row with the body of the node's newest chunk that
 * does not begin after end_ms (at most INT64_MAX). The caller finalizes it.
 * NULL: the node has no such chunk. */
must_check int partition_newest(struct sqlite3_stmt **out, struct sqlite3 *db,
	int64_t node, uint64_t end_ms, struct error *err);

struct partition_span {
	size_t count;		  /* tables */
	uint64_t from_ms, end_ms; /* the time that they cover */
};

/* The tables of a tier. */
must_check int partition_find_span(struct partition_span *span,
	struct sqlite3 *db, enum store_tier tier, struct error *err);

/* The blobs that a step deleted. */
struct partition_dropped {
	size_t blobs;
	uint64_t bytes, from_ms; /* the earliest time in them */
	bool is_gone;		 /* the table was empty and was deleted */
};

/* Deletes blobs of the table that begins at from_ms in the order of writing,
 * until it has deleted most_bytes or as many as one step may, but at least one;
 * and the table if it is empty. */
must_check int partition_drop_some(struct partition_dropped *out,
	struct sqlite3 *db, enum store_tier tier, uint64_t from_ms,
	uint64_t most_bytes, struct error *err);

/* The same for the oldest blobs of one node in a tier. Tables stay. */
must_check int partition_drop_of_node(struct partition_dropped *out,
	struct sqlite3 *db, enum store_tier tier, int64_t node,
	uint64_t most_bytes, struct error *err);
