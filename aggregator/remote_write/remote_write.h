/* Remote write: what the store has stored, on its way to an engine for time
 * series (Prometheus, VictoriaMetrics, Mimir, Thanos).
 *
 * Request by request, in the order of storing, out of the store's queue
 * (store_outbox.h) on the disk: what was stored is sent, once while all goes
 * well and at least once over a crash, and a slow or dead engine costs room in
 * the queue and nothing else. Reading and packing is done on the store's
 * reader's thread; on the loop's there are one request and its answer at a
 * time. */
#pragma once

#include "aggregator/remote_write/target.h"
#include "aggregator/store/store.h"

#include <uv.h>

struct remote;

struct remote_health {
	struct store_outbox_counts queue;
	double lag_s; /* since the oldest that waits was stored; 0: none does */
	double last_success_s; /* unix time; NAN: none yet */
	uint64_t sent_requests, sent_reports, sent_samples;
	uint64_t retries; /* requests that were sent again */
	uint64_t refused; /* reports that the engine does not want */
};

/* config and store outlive it, the store up to remote_stop(). Fails as reading
 * the files of config does. */
must_check int remote_new(struct remote **out, uv_loop_t *loop,
	struct store *store, const struct remote_config *config,
	struct error *err);

/* Ends the request under way: it will be sent again by the next process.
 * NULL is fine. */
void remote_stop(struct remote *remote);

/* After remote_stop(), when the store is closed. NULL is fine. */
void remote_free(struct remote *remote);

struct remote_health remote_health(const struct remote *remote);

/* Why what is stored is not at the engine a minute later; "" if it is.
 * Borrowed. */
const char *remote_trouble(struct remote *remote);
