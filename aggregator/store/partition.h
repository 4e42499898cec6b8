/* The tables of what is packed: one a day for chunks and minutes, one for 32
 * days for hours, so that the past can be let go of whole. Between the store's
 * own files.
 *
 * Each row holds a blob about one node and one hour of unix time, whose first
 * and last times stand beside it. Rowids are given in the order of writing:
 * blobs that are appended fill pages, which such that are keyed by node do not
 * (30 % more on the disk for blobs of 6 KB). */
#pragma once

#include "aggregator/store/store.h"

struct sqlite3;
struct sqlite3_stmt;

#define STORE_HOUR_MS UINT64_C(3600000)

/* Milliseconds that one table of a tier covers. */
uint64_t part_span_ms(enum store_tier tier);

struct part_blob {
	int64_t node;
	uint64_t from_ms, to_ms; /* of what is in it */
	const void *body;
	size_t len;
};

/* Adds a blob to the table of its from_ms, made if it is not there. */
must_check int part_add(struct sqlite3 *db, enum store_tier tier,
	const struct part_blob *blob, struct error *err);

/* Forgets a node's blobs of the hour that begins at hour_ms. */
must_check int part_forget(struct sqlite3 *db, enum store_tier tier,
	int64_t node, uint64_t hour_ms, struct error *err);

/* Reads a tier hour after hour, with one statement a table: making one takes
 * longer than running it. Begins with all but the tier zero. */
struct part_reader {
	enum store_tier tier;
	struct sqlite3_stmt *statement; /* NULL: none yet */
	uint64_t table;			/* it reads, counted from 1970 */
};

/* A statement that gives the bodies, column 0, of a node's blobs of the hour
 * that begins at hour_ms; it stays the reader's and is to be reset. NULL: there
 * is no such table. */
must_check int part_select(struct sqlite3_stmt **out,
	struct part_reader *reader, struct sqlite3 *db, int64_t node,
	uint64_t hour_ms, struct error *err);
void part_reader_fini(struct part_reader *reader);

/* The newest chunk of a node; NULL statement: none in the newest tables. */
must_check int part_newest(struct sqlite3_stmt **out, struct sqlite3 *db,
	int64_t node, struct error *err);

struct part_span {
	size_t count;		  /* of a tier's tables */
	uint64_t from_ms, end_ms; /* of the time they cover */
};

must_check int part_find_span(struct part_span *span, struct sqlite3 *db,
	enum store_tier tier, struct error *err);

/* Deletes some blobs, at most `most` of them, of the table that begins at
 * from_ms, and the table when it is empty; *is_gone says so. */
must_check int part_drop_some(bool *is_gone, struct sqlite3 *db,
	enum store_tier tier, uint64_t from_ms, int most, struct error *err);
