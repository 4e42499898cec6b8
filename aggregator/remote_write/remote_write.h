/* Remote write: sends stored reports to a time series engine (Prometheus,
 * VictoriaMetrics, Mimir, Thanos).
 *
 * Each shard of the store's queue on disk (store/outbox.h) is sent in the order
 * of storing, one request at a time; requests of different shards are under way
 * side by side. A request that is slow, fails or is refused holds up its shard
 * alone. A report is sent once, or more than once after a crash. A slow or
 * unreachable engine takes space in the queue and has no other effect. The
 * store's reader thread reads and packs the reports. */
#pragma once

#include "aggregator/remote_write/target.h"
#include "aggregator/store/store.h"

#include <uv.h>

struct remote_write;

struct remote_write_health {
	struct outbox_counts queue;
	double lag_s; /* since the oldest unsent report was stored; 0: none */
	size_t failing_shards; /* whose last request failed */
	double last_success_s; /* unix time; NAN: none yet */
	uint64_t sent_requests, sent_reports, sent_samples;
	uint64_t retries; /* requests that were sent again */
	/* Reports that are not sent: the engine refused them, they cannot be
	 * read, or a later one of the node has the same millisecond. */
	uint64_t refused, unreadable, same_time;
};

/* config and store outlive it, the store up to remote_write_stop(). Fails if a
 * file of config cannot be read. */
must_check int remote_write_new(struct remote_write **out, uv_loop_t *loop,
	struct store *store, const struct target_config *config,
	struct error *err);

/* Cancels the requests in progress: the next process sends them again. NULL is
 * fine. */
void remote_write_stop(struct remote_write *remote);

/* After remote_write_stop(), when the store is closed. NULL is fine. */
void remote_write_free(struct remote_write *remote);

struct remote_write_health remote_write_health(
	const struct remote_write *remote);

/* Why reports wait for more than a minute; "" if none does. Borrowed. */
const char *remote_write_last_error(struct remote_write *remote);
