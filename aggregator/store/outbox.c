#include "aggregator/store/outbox.h"

#include "aggregator/store/thread.h"

struct outbox_counts outbox_count(struct store *store)
{
	struct outbox_counts counts;

	uv_mutex_lock(&store->mutex);
	counts = store->outbox;
	uv_mutex_unlock(&store->mutex);
	return counts;
}

int outbox_read(struct store *store, const struct outbox_read *read,
	struct error *err)
{
	const struct store_job job = { .kind = STORE_JOB_OUTBOX,
		.outbox = *read };

	return store_submit(store, &job, err);
}

int outbox_delete(struct store *store, uint64_t id, struct error *err)
{
	static const uint8_t no_run[REPORT_RUN_ID_BYTES];
	struct store_batch *batch = store_batch_new("", no_run);
	int r;

	batch->forwarded = id;
	r = store_write(store, batch, NULL, NULL, err);
	if (r < 0) {
		store_batch_free(batch);
	}
	return r;
}
