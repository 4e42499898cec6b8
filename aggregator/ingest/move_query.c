#include "aggregator/ingest/move_query.h"

#include "aggregator/ingest/ingest_reply.h"
#include "aggregator/store/records.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>

enum {
	/* A full list has 200 KB. */
	REPLY_MAX = 1 << 20,
	RETRY_MS = 1000,
};

/* A query belongs to the reader's thread while it runs. */
struct move_query {
	struct mq_request *request;
	struct move_record records[WIRE_MOVES_MAX];
	uint64_t rows[WIRE_MOVES_MAX];
	size_t count;
	bool has_more;
};

/* On the reader's thread. */
static bool on_move(void *owner, const struct store_move *move)
{
	struct move_query *query = owner;

	if (query->count == WIRE_MOVES_MAX) {
		query->has_more = true;
		return false;
	}
	query->records[query->count] = move->record;
	query->rows[query->count] = move->row;
	query->count++;
	return true;
}

static void on_done(void *owner, const struct error *err)
{
	struct move_query *query = owner;
	const struct move_list list = {
		.records = query->records,
		.count = query->count,
		.next = query->has_more ? query->rows[query->count - 1] : 0,
	};
	scoped_buffer struct buffer out = BUFFER_MAX(REPLY_MAX);

	if (err != NULL) {
		ingest_reply_refused(query->request, err, RETRY_MS);
	} else {
		wire_pack_move_list(&out, &list);
		ingest_reply_bytes(query->request, &out);
	}
	free(query);
}

void move_query_ask(struct store *store, struct mq_request *request,
	const struct moves_request *asked)
{
	struct move_query *query = xcalloc(1, sizeof(*query));
	const struct store_moves_read read = {
		.since_ms = asked->since_us / 1000,
		.is_by_row = true,
		.after = asked->after,
		.limit = WIRE_MOVES_MAX + 1,
		.move = on_move,
		.done = on_done,
		.owner = query,
	};
	struct error error;
	int r = store == NULL ? error_set(&error, -ESHUTDOWN, "shutting down")
			      : 0;

	query->request = request;
	r = r == 0 ? store_query_moves(store, &read, &error) : r;
	if (r < 0) {
		on_done(query, &error);
	}
}
