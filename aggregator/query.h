/* The parameters of a history query: text from outside to values. Pure. */
#pragma once

#include "lib/error.h"
#include "proto/load.h"

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

/* Row i covers [from + i * step, from + (i + 1) * step). */
struct query {
	uint64_t from_us, to_us; /* wall clock */
	uint64_t step_us;
	const struct load_field *fields[QUERY_FIELDS_MAX];
	size_t field_count;
};

/* A time, RFC 3339 or unix seconds with up to six decimals, to microseconds of
 * the wall clock. -EINVAL: it is neither. */
must_check int query_parse_time(uint64_t *us, const char *text,
	struct error *err);

/* Fills in what was not given: the last hour until now_us, a step of at least
 * interval_us that gives QUERY_ROWS_DEFAULT rows at most, the usual fields.
 * -EINVAL: one sentence says what is wrong. */
must_check int query_parse(struct query *out, const struct query_texts *texts,
	uint64_t now_us, uint64_t interval_us, struct error *err);

size_t query_row_count(const struct query *query);
