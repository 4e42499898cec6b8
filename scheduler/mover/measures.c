#include "scheduler/mover/measures.h"

#include <math.h>

double measures_share(const struct cache *cache, const char *node,
	int64_t now_us)
{
	const struct node *found = cache_node(cache, node);
	const struct node_metrics *m;

	if (found == NULL || !node_metrics_is_fresh(&found->metrics, now_us)) {
		return NAN;
	}
	m = &found->metrics;
	return m->cores > 0 ? m->used_cores_5m / m->cores : NAN;
}

static bool is_due(double figure, uint64_t due_us, uint64_t wall_us)
{
	return isnan(figure) && wall_us >= due_us &&
		wall_us < due_us + MEASURES_GRACE_US;
}

/* True: the pair of figures is known now. */
static bool take(double *source, double *target,
	const struct move_record *record, const struct cache *cache,
	int64_t now_us)
{
	double from = measures_share(cache, record->source, now_us);
	double to = measures_share(cache, record->target, now_us);

	if (isnan(from) && isnan(to)) {
		return false;
	}
	*source = from;
	*target = to;
	return true;
}

static bool take_due(struct move_record *r, const struct cache *cache,
	struct moment now)
{
	bool has_taken = false;

	if (is_due(r->measured_source_3m, r->ended_us + MEASURES_SOON_US,
		    now.wall_us) &&
		isnan(r->measured_target_3m)) {
		has_taken = take(&r->measured_source_3m, &r->measured_target_3m,
			r, cache, now.now_us);
	}
	if (is_due(r->measured_source_60m, r->ended_us + MEASURES_LATE_US,
		    now.wall_us) &&
		isnan(r->measured_target_60m)) {
		has_taken |= take(&r->measured_source_60m,
			&r->measured_target_60m, r, cache, now.now_us);
	}
	return has_taken;
}

void measures_take(struct recorder *recorder, const struct cache *cache,
	struct moment now)
{
	struct move_record *record;
	size_t at = 0;

	while ((record = move_records_next(&recorder->records, &at)) != NULL) {
		if (record->state == MOVE_SUCCEEDED &&
			take_due(record, cache, now)) {
			recorder_update(recorder, record);
		}
	}
}
