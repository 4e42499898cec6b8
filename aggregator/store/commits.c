#include "aggregator/store/commits.h"

#include "aggregator/store/thread.h"

const struct histogram_shape commits_shape = { 0.001, 2, 14 };

struct histogram commits_seconds(struct store *store)
{
	struct histogram commits;

	uv_mutex_lock(&store->mutex);
	commits = store->commits;
	uv_mutex_unlock(&store->mutex);
	return commits;
}
