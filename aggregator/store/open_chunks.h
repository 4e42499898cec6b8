/* The chunks of one hour of a node, few of which are decoded at a time: at most
 * OPEN_CHUNKS_MEMORY bytes, and one chunk more. The least recently used chunk
 * is closed first, and opened again when it is needed. */
#pragma once

#include "aggregator/codec/chunk.h"
#include "aggregator/store/partition.h"

#include <sys/queue.h>

enum {
	/* Chunks take 1 to 25 MB each, and mostly follow each other. */
	OPEN_CHUNKS_MEMORY = 32 << 20,
	/* Limit of the bytes that are decoded again, because the reports of
	 * many chunks alternate: seconds of work. */
	OPEN_CHUNKS_REPEATED = 1 << 30,
};

struct open_chunk {
	int64_t id;
	struct chunk *chunk; /* NULL: not open */
	size_t bytes;	     /* of the open chunk */
	size_t left;	     /* reports that the caller has not read yet */
	bool was_open, is_damaged;
	TAILQ_ENTRY(open_chunk) entry; /* in open */
};

TAILQ_HEAD(open_chunk_list, open_chunk);

struct open_chunks {
	struct sqlite3 *db;
	struct partition_reader partitions;
	const char *node; /* for messages; borrowed */
	struct chunk_selection selection;
	struct open_chunk *list; /* owned */
	size_t count, capacity;
	struct open_chunk_list open; /* the least recently used first */
	size_t bytes, repeated_bytes;
};

void open_chunks_init(struct open_chunks *chunks, struct sqlite3 *db);
void open_chunks_fini(struct open_chunks *chunks);

/* Closes and forgets all chunks. */
void open_chunks_clear(struct open_chunks *chunks);

/* Adds a chunk by its id. Before any chunk is opened. */
void open_chunks_add(struct open_chunks *chunks, int64_t id);

/* Opens a chunk for a preview: with what is wanted of it if there is memory,
 * else with times, runs and boots. A damaged chunk is logged and not opened. */
must_check int open_chunks_preview(struct open_chunks *chunks,
	struct open_chunk *chunk, struct error *err);

/* Closes the chunk, unless it has reports left and holds what is wanted. */
void open_chunks_end_preview(struct open_chunks *chunks,
	struct open_chunk *chunk);

/* Opens a chunk that is not open, and closes others. -EFBIG: more than
 * OPEN_CHUNKS_REPEATED; -EBADMSG: damaged, which was logged; *err is not set
 * then. */
must_check int open_chunks_need(struct open_chunks *chunks,
	struct open_chunk *chunk, struct error *err);
void open_chunks_close(struct open_chunks *chunks, struct open_chunk *chunk);
