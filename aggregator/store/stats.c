#include "aggregator/store/stats.h"

#include "aggregator/store/thread.h"

const struct histogram_shape store_stats_commits = { 0.001, 2, 14 };

const char *store_complaint(const struct store *store)
{
	/* Writes may go on and fail later, so damage is told first. */
	return atomic_load(&store->is_damaged)
		? "the database is damaged: the next start sets it aside"
		: store_last_error(store);
}

struct store_stats store_stats(struct store *store)
{
	uint64_t max_bytes = store->options.max_bytes;
	struct store_stats stats;

	uv_mutex_lock(&store->mutex);
	stats = store->stats;
	uv_mutex_unlock(&store->mutex);
	if (stats.database_bytes == 0) {
		stats.database_bytes = REPORT_UNKNOWN;
	}
	stats.is_damaged = atomic_load(&store->is_damaged);
	stats.database_max_bytes = max_bytes == 0 ? REPORT_UNKNOWN : max_bytes;
	return stats;
}
