#include "aggregator/api_history.h"

#include "aggregator/api_body.h"
#include "aggregator/history.h"
#include "lib/clock.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A query under way; while it runs history is the reader thread's. */
struct past {
	struct http_request *request;
	struct history *history;
	char node[REPORT_NODE_MAX];
	bool as_csv;
};

static void past_free(struct past *past)
{
	history_free(past->history);
	free(past);
}

/* On the reader's thread. */
static bool on_row(void *owner, const struct store_row *row)
{
	struct past *past = owner;

	history_add(past->history, row->run_id, row->sample_ms * 1000,
		row->report);
	return true;
}

static void on_done(void *owner, const struct error *err)
{
	scoped_buffer struct buffer body = BUFFER_MAX(API_BODY_MAX);
	struct past *past = owner;

	if (err != NULL) {
		http_reply_error(past->request, 503, "%s", err->text);
	} else if (past->as_csv) {
		body_write_history_csv(&body, past->history);
		api_reply_body(past->request, "text/csv", &body);
	} else {
		body_write_history(&body, past->node, past->history);
		api_reply_body(past->request, api_json, &body);
	}
	past_free(past);
}

static bool wants_csv(const struct http_request *request)
{
	const char *accept = http_header(request, "Accept");

	return accept != NULL && strcasestr(accept, "text/csv") != NULL;
}

static void start_query(const struct api *api, struct http_request *request,
	const char *node, const struct query *query)
{
	struct past *past = xcalloc(1, sizeof(*past));
	struct store_read read = { .row = on_row,
		.done = on_done,
		.owner = past };
	struct error error;

	past->request = request;
	past->history = history_new(query);
	past->as_csv = wants_csv(request);
	(void)snprintf(past->node, sizeof(past->node), "%s", node);
	(void)snprintf(read.node, sizeof(read.node), "%s", node);
	history_range_ms(&read.from_ms, &read.to_ms, query);
	if (store_query(api->store, &read, &error) < 0) {
		past_free(past);
		http_reply_error(request, 503, "%s", error.text);
	}
}

void api_serve_node_history(const struct api *api, const struct live_node *node,
	struct http_request *request)
{
	struct query_texts texts = {
		.from = http_query(request, "from"),
		.to = http_query(request, "to"),
		.step = http_query(request, "step"),
		.fields = http_query(request, "fields"),
	};
	uint64_t interval_us = (uint64_t)live_node_interval_ms(node) * 1000;
	struct query query;
	struct error error;

	if (query_parse(&query, &texts, clock_wall_us(), interval_us, &error) <
		0) {
		http_reply_error(request, 400, "%s", error.text);
		return;
	}
	start_query(api, request, live_node_name(node), &query);
}
