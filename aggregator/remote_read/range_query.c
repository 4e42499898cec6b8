#include "aggregator/remote_read/range_query.h"

#include "kube/url_query.h"

#include <inttypes.h>
#include <stdio.h>

static void add_seconds(struct buffer *out, const char *key, uint64_t us)
{
	char text[48];

	(void)snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64,
		us / 1000000, us % 1000000);
	url_query_add(out, key, text);
}

/* The engine must not give a part of an answer without saying so, which are
 * parameters of Thanos and VictoriaMetrics, and not move the points, as
 * VictoriaMetrics does for its cache. Others ignore these. */
size_t range_query_write(struct buffer *out, const struct range_query *query)
{
	const struct history_query *of = query->text->query;
	scoped_buffer struct buffer expression =
		BUFFER_MAX((size_t)8 * QUERY_TEXT_BYTES_MAX);
	size_t count = query_text_fields(&expression, query->text, query->first,
		query->most);

	url_query_add(out, "query", expression.data);
	add_seconds(out, "start", of->from_us + of->step_us);
	add_seconds(out, "end", of->from_us + query->rows * of->step_us);
	add_seconds(out, "step", of->step_us);
	add_seconds(out, "timeout", query->timeout_us);
	url_query_add(out, "nocache", "1");
	url_query_add(out, "partial_response", "false");
	url_query_add(out, "deny_partial_response", "1");
	buffer_consume(out, 1); /* the question mark of a URL */
	return count;
}
