/* How many bytes of blobs each node has in the partitions: the table
 * blob_bytes, one row a node. Counted when a blob is added or deleted, because
 * reading all blobs would take minutes. */
#pragma once

#include "lib/error.h"

#include <stdint.h>

struct sqlite3;

/* Creates the table if it does not exist, and counts the blobs of an earlier
 * version, which reads a page for each of them. */
must_check int blob_bytes_prepare(struct sqlite3 *db, struct error *err);

/* Adds to a node's bytes, or subtracts. Inside the caller's transaction. */
must_check int blob_bytes_add(struct sqlite3 *db, int64_t node, int64_t bytes,
	struct error *err);

/* Calls found for each node. */
must_check int blob_bytes_read(struct sqlite3 *db,
	void (*found)(void *owner, int64_t node, uint64_t bytes), void *owner,
	struct error *err);
