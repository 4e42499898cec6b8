#include "aggregator/remote_write/batch.h"

#include "lib/memory.h"

#include <stdlib.h>

void batch_free(struct batch *batch)
{
	if (batch != NULL) {
		request_body_free(batch->body);
		free(batch);
	}
}

static bool on_row(void *owner, const struct outbox_row *row)
{
	struct batch *batch = owner;

	batch->last_id = row->id;
	batch->count++;
	if (row->report == NULL) {
		batch->unreadable++;
		return true;
	}
	batch->is_full = !request_body_add(batch->body, row->node,
		row->sample_ms, row->report);
	return !batch->is_full;
}

static void on_end(void *owner, const struct store_names *names)
{
	struct batch *batch = owner;

	request_body_pack(batch->body, names);
}

static void on_read(void *owner, const struct error *err)
{
	struct batch *batch = owner;

	batch->is_full = batch->is_full || batch->count == batch->limit;
	batch->done(batch->owner, batch, err);
}

int batch_read(struct store *store, const struct batch_source *source,
	struct error *err)
{
	struct batch *batch = xcalloc(1, sizeof(*batch));
	struct outbox_read read = {
		.shard = source->shard,
		.after = source->after,
		.most = (size_t)source->limit,
		.row = on_row,
		.end = on_end,
		.done = on_read,
		.owner = batch,
	};
	int r;

	batch->limit = source->limit;
	batch->done = source->done;
	batch->owner = source->owner;
	batch->body = request_body_new(source->extra);
	r = outbox_read(store, &read, err);
	if (r < 0) {
		batch_free(batch);
	}
	return r;
}
