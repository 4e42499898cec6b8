/* The reports of one request: read from a shard of the queue and packed, both
 * on the store's reader thread. */
#pragma once

#include "aggregator/remote_write/request_body.h"
#include "aggregator/store/store.h"

struct batch {
	struct request_body *body;
	uint64_t last_id, count; /* of its reports */
	uint64_t unreadable;	 /* of them, which body does not have */
	bool is_full;		 /* the shard may have more */
	/* private */
	uint64_t limit;
	void (*done)(void *owner, struct batch *batch, const struct error *err);
	void *owner;
};

struct batch_source {
	size_t shard;
	uint64_t after, limit;		    /* see struct outbox_read */
	const struct request_labels *extra; /* outlives the batch */
	/* On the loop's thread. The owner then has the batch; err as that of
	 * struct outbox_read. */
	void (*done)(void *owner, struct batch *batch, const struct error *err);
	void *owner;
};

/* Reads the next reports. Errors are those of outbox_read(). */
must_check int batch_read(struct store *store,
	const struct batch_source *source, struct error *err);

void batch_free(struct batch *batch); /* NULL is fine */
