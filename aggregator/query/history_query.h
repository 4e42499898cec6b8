/* The parameters of a history query: text from outside to values. Pure. */
#pragma once

#include "aggregator/series/rollup.h"
#include "aggregator/store/store.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	QUERY_FIELDS_MAX = 32,
	QUERY_ROWS_MAX = 11000, /* as many as Prometheus gives */
	QUERY_ROWS_DEFAULT = 720,
};

/* As they stand in the URL, decoded; NULL: not given. */
struct query_texts {
	const char *from, *to, *step, *fields;
};

/* What a row says of the time it covers. */
enum query_stat {
	QUERY_MEAN, /* by time */
	QUERY_MAX,  /* the largest interval's figure */
	QUERY_P95,  /* the largest of its minutes' (or hours') percentiles */
};

struct query_field {
	char name[64]; /* as it is written in answers */
	size_t figure; /* rollup_node_field, or rollup_vm_field */
	enum query_stat stat;
	/* Pods of a VM that run at the same time add up. */
	bool is_sum;
};

/* Row i covers [from + i * step, from + (i + 1) * step). */
struct query {
	uint64_t from_us, to_us; /* wall clock */
	uint64_t step_us;
	enum store_tier tier; /* what is to be read */
	bool is_vm;	      /* of a VM; else a node */
	struct query_field fields[QUERY_FIELDS_MAX];
	size_t field_count;
};

/* What is asked, and when. */
struct query_about {
	bool is_vm;
	uint64_t now_us;      /* wall clock */
	uint64_t interval_us; /* between reports */
	uint64_t retention_us[STORE_TIERS];
};

/* A time, RFC 3339 or unix seconds with up to six decimals, to microseconds of
 * the wall clock. -EINVAL: it is neither. */
must_check int query_parse_time(uint64_t *us, const char *text,
	struct error *err);

/* Fills in what was not given: the last hour until now, a step of at least the
 * interval that gives QUERY_ROWS_DEFAULT rows at most, the usual fields.
 *
 * The tier is the coarsest whose rows fill steps evenly, or the finest that
 * reaches back to `from` if that one does not: the step is then a whole number
 * of its rows. Ranges are widened to whole rows of the tier.
 * -EINVAL: one sentence says what is wrong. */
must_check int query_parse(struct query *out, const struct query_texts *texts,
	const struct query_about *about, struct error *err);

size_t query_row_count(const struct query *query);

/* A row of the tier in microseconds; 0 for reports. */
uint64_t query_tier_us(enum store_tier tier);
