#include "aggregator/store/left_out.h"

#include "aggregator/store/thread.h"

struct left_out left_out_count(struct store *store)
{
	struct left_out left_out;

	uv_mutex_lock(&store->mutex);
	left_out = store->left_out;
	uv_mutex_unlock(&store->mutex);
	return left_out;
}
