#include "aggregator/store/database_size.h"

#include "aggregator/store/thread.h"

struct database_size database_size(struct store *store)
{
	uint64_t max_bytes = store->options.max_bytes;
	struct database_size size = {
		.bytes = REPORT_UNKNOWN,
		.max_bytes = max_bytes == 0 ? REPORT_UNKNOWN : max_bytes,
	};

	uv_mutex_lock(&store->mutex);
	if (store->used_bytes != 0) {
		size.bytes = store->used_bytes;
	}
	uv_mutex_unlock(&store->mutex);
	return size;
}
