/* The body of a request to /api/v1/query_range. Pure. */
#pragma once

#include "aggregator/remote_read/query_text.h"

/* Each byte of an expression may take three. */
enum { RANGE_QUERY_MAX = 32 * QUERY_TEXT_BYTES_MAX };

struct range_query {
	const struct query_text *text;
	size_t rows;	     /* the first ones of the query; at least 1 */
	size_t first, most;  /* fields */
	uint64_t timeout_us; /* of the engine */
};

/* Writes the form. Point i is the end of row i. Returns how many fields it asks
 * for: see query_text_fields(). */
size_t range_query_write(struct buffer *out, const struct range_query *query);
