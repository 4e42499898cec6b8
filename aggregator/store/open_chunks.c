#include "aggregator/store/open_chunks.h"

#include "aggregator/store/db.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>

void open_chunks_init(struct open_chunks *chunks, struct sqlite3 *db)
{
	*chunks = (struct open_chunks){ .db = db };
	TAILQ_INIT(&chunks->open);
	chunks->partitions.tier = STORE_RAW;
}

void open_chunks_close(struct open_chunks *chunks, struct open_chunk *chunk)
{
	if (chunk->chunk != NULL) {
		TAILQ_REMOVE(&chunks->open, chunk, entry);
		chunks->bytes -= chunk->bytes;
		chunk_close(chunk->chunk);
		chunk->chunk = NULL;
	}
}

void open_chunks_clear(struct open_chunks *chunks)
{
	while (!TAILQ_EMPTY(&chunks->open)) {
		open_chunks_close(chunks, TAILQ_FIRST(&chunks->open));
	}
	chunks->count = 0;
}

void open_chunks_fini(struct open_chunks *chunks)
{
	open_chunks_clear(chunks);
	partition_reader_fini(&chunks->partitions);
	free(chunks->list);
}

void open_chunks_add(struct open_chunks *chunks, int64_t id)
{
	chunks->list = xgrow(chunks->list, chunks->count, &chunks->capacity,
		sizeof(*chunks->list));
	chunks->list[chunks->count++] = (struct open_chunk){ .id = id };
}

static int open_parts(struct open_chunks *chunks, struct open_chunk *chunk,
	unsigned int parts, struct error *err)
{
	const struct chunk_selection selection = { parts,
		chunks->selection.pod_uid };
	struct sqlite3_stmt *get;
	struct error error;
	int r = partition_get(&get, &chunks->partitions, chunks->db, chunk->id,
		err);

	if (r < 0) {
		return r;
	}
	if (chunk_open(&chunk->chunk, sqlite3_column_blob(get, 0),
		    (size_t)sqlite3_column_bytes(get, 0), &selection,
		    &error) < 0) {
		log_error("damaged chunk of reports left out",
			log_str("node", chunks->node), log_err(&error),
			LOG_END);
		chunk->is_damaged = true;
	} else {
		chunk->bytes = chunk_bytes(chunk->chunk);
		chunks->bytes += chunk->bytes;
		TAILQ_INSERT_TAIL(&chunks->open, chunk, entry);
	}
	(void)sqlite3_reset(get);
	return 0;
}

int open_chunks_preview(struct open_chunks *chunks, struct open_chunk *chunk,
	struct error *err)
{
	chunk->was_open = chunks->bytes < OPEN_CHUNKS_MEMORY;
	return open_parts(chunks, chunk,
		chunk->was_open ? chunks->selection.parts : SCHEMA_ALWAYS, err);
}

void open_chunks_end_preview(struct open_chunks *chunks,
	struct open_chunk *chunk)
{
	if (!chunk->was_open || chunk->left == 0) {
		open_chunks_close(chunks, chunk);
	}
}

static int open_again(struct open_chunks *chunks, struct open_chunk *chunk,
	struct error *err)
{
	int r = open_parts(chunks, chunk, chunks->selection.parts, err);

	if (r < 0 || chunk->is_damaged) {
		return r;
	}
	chunks->repeated_bytes += chunk->was_open ? chunk->bytes : 0;
	chunk->was_open = true;
	return chunks->repeated_bytes > OPEN_CHUNKS_REPEATED
		? error_set(err, -EFBIG,
			  "too many reports of '%s' were stored in another "
			  "order than they were measured: use a shorter time "
			  "range",
			  chunks->node)
		: 0;
}

int open_chunks_need(struct open_chunks *chunks, struct open_chunk *chunk,
	struct error *err)
{
	int r = chunk->chunk == NULL && !chunk->is_damaged
		? open_again(chunks, chunk, err)
		: 0;

	if (r < 0 || chunk->is_damaged) {
		return r < 0 ? r : -EBADMSG;
	}
	TAILQ_REMOVE(&chunks->open, chunk, entry);
	TAILQ_INSERT_TAIL(&chunks->open, chunk, entry);
	while (chunks->bytes > OPEN_CHUNKS_MEMORY &&
		TAILQ_FIRST(&chunks->open) != chunk) {
		open_chunks_close(chunks, TAILQ_FIRST(&chunks->open));
	}
	return 0;
}
