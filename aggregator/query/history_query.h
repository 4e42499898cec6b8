/* Parses the parameters of a history query. Pure. */
#pragma once

#include "aggregator/series/rollup.h"
#include "aggregator/store/store.h"
#include "lib/error.h"

enum {
	HISTORY_QUERY_FIELDS_MAX = 32,
	HISTORY_QUERY_ROWS_MAX = 11000, /* as many as Prometheus gives */
	HISTORY_QUERY_ROWS_DEFAULT = 720,
};

/* From the URL, decoded; NULL: not given. */
struct history_query_params {
	const char *from, *to, *step, *fields;
};

/* The statistic of a field over the time of a row. */
enum history_query_stat {
	HISTORY_QUERY_MEAN, /* time-weighted */
	HISTORY_QUERY_MAX,  /* the largest figure of an interval */
	HISTORY_QUERY_P95,  /* the largest percentile of a minute or hour */
};

struct history_query_field {
	char name[64]; /* as in responses */
	size_t figure; /* rollup_node_field, or rollup_vm_field */
	enum history_query_stat stat;
	/* Pods of a VM that run at the same time are summed. */
	bool is_sum;
};

/* Row i covers [from + i * step, from + (i + 1) * step). */
struct history_query {
	uint64_t from_us, to_us; /* wall clock */
	uint64_t step_us;
	enum store_tier tier; /* to read */
	bool is_vm;	      /* false: a node */
	struct history_query_field fields[HISTORY_QUERY_FIELDS_MAX];
	size_t field_count;
};

struct history_query_context {
	bool is_vm;
	uint64_t now_us;      /* wall clock */
	uint64_t interval_us; /* between reports */
	uint64_t retention_us[STORE_TIERS];
};

/* Parses a time, RFC 3339 or unix seconds with up to six decimals, to
 * microseconds of the wall clock. text NULL: *us is unchanged. -EINVAL: the
 * sentence begins with name. */
must_check int history_query_parse_time(uint64_t *us, const char *name,
	const char *text, struct error *err);

/* Defaults: the last hour until now, a step of at least the interval that gives
 * at most HISTORY_QUERY_ROWS_DEFAULT rows, the default fields.
 *
 * The tier is the coarsest whose rows fill steps evenly. If that tier does not
 * reach back to `from`, the tier is the finest that does, and the step becomes
 * a whole number of its rows. Ranges are widened to whole rows of the tier.
 * -EINVAL: the sentence names the parameter. */
must_check int history_query_parse(struct history_query *out,
	const struct history_query_params *params,
	const struct history_query_context *context, struct error *err);

size_t history_query_row_count(const struct history_query *query);

/* The length of the tier's rows; 0 for reports. */
uint64_t history_query_tier_us(enum store_tier tier);
