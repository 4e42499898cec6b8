#include "aggregator/remote_read/remote_profile.h"

#include "aggregator/query/profile_builder.h"
#include "aggregator/remote_read/remote_read.h"
#include "lib/memory.h"

#include <math.h>
#include <stdlib.h>

static const uint64_t minute_ms = 60000;

/* Agents report each 2 s unless they are told otherwise. */
static const uint64_t usual_interval_us = 2000000;

/* In the order of the query's fields. */
enum { MEAN_CORES, MAX_CORES, MEAN_BYTES, MAX_BYTES, FIELDS };

struct filling {
	struct profile_builder *builder;
	uint64_t from_ms;
	size_t minutes;
	profile_source_done done;
	void *owner;
};

static struct rollup_figure figure_of(double mean, double max)
{
	return (struct rollup_figure){ mean, fmax(mean, max), NAN };
}

static size_t add_minutes(const struct filling *filling, const double *values)
{
	size_t added = 0;

	for (size_t i = 0; i < filling->minutes; i++) {
		const double *of = &values[i * FIELDS];
		struct rollup_row row = {
			.from_ms = filling->from_ms + i * minute_ms,
			.covered_ms = (uint32_t)minute_ms,
		};

		if (isnan(of[MEAN_CORES]) && isnan(of[MEAN_BYTES])) {
			continue;
		}
		row.figures[ROLLUP_VM_used_cores] =
			figure_of(of[MEAN_CORES], of[MAX_CORES]);
		row.figures[ROLLUP_VM_memory_bytes] =
			figure_of(of[MEAN_BYTES], of[MAX_BYTES]);
		profile_builder_add(filling->builder, &row);
		added++;
	}
	return added;
}

static void on_values(void *owner, double *values, const struct error *err)
{
	struct filling *filling = owner;
	size_t added = values == NULL ? 0 : add_minutes(filling, values);

	free(values);
	filling->done(filling->owner, added, err);
	free(filling);
}

static void set_field(struct history_query *query, size_t at, size_t figure,
	enum history_query_stat stat)
{
	query->fields[at] = (struct history_query_field){ .figure = figure,
		.stat = stat,
		.is_sum = stat == HISTORY_QUERY_MEAN };
}

static void fill(void *owner, const struct profile_request *vm,
	struct profile_builder *builder, profile_source_done done,
	void *done_owner)
{
	struct filling *filling = xcalloc(1, sizeof(*filling));
	struct history_query query = { .tier = STORE_1M,
		.is_vm = true,
		.step_us = minute_ms * 1000,
		.field_count = FIELDS };

	filling->builder = builder;
	filling->done = done;
	filling->owner = done_owner;
	filling->from_ms = profile_builder_from_ms(builder);
	filling->minutes = (size_t)((profile_builder_first_ms(builder) -
					    filling->from_ms) /
		minute_ms);
	if (filling->minutes == 0) {
		on_values(filling, NULL, NULL);
		return;
	}
	set_field(&query, MEAN_CORES, ROLLUP_VM_used_cores, HISTORY_QUERY_MEAN);
	set_field(&query, MAX_CORES, ROLLUP_VM_used_cores, HISTORY_QUERY_MAX);
	set_field(&query, MEAN_BYTES, ROLLUP_VM_memory_bytes,
		HISTORY_QUERY_MEAN);
	set_field(&query, MAX_BYTES, ROLLUP_VM_memory_bytes, HISTORY_QUERY_MAX);
	query.from_us = filling->from_ms * 1000;
	query.to_us = query.from_us + filling->minutes * query.step_us;
	remote_read_ask(owner,
		&(struct remote_read_question){ .namespace = vm->namespace,
			.name = vm->name,
			.query = &query,
			.rows = filling->minutes,
			.interval_us = usual_interval_us,
			.done = on_values,
			.owner = filling });
}

struct profile_source remote_profile_source(struct remote_read *remote)
{
	return (struct profile_source){ .fill = fill, .owner = remote };
}
