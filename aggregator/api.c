#include "aggregator/api.h"

#include "aggregator/api_body.h"
#include "aggregator/api_decisions.h"
#include "aggregator/history.h"
#include "lib/clock.h"
#include "lib/memory.h"
#include "proto/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 20,000 nodes with 30 VMs each are about 100 MB. */
enum { BODY_MAX = 256 << 20 };

static const char json_type[] = "application/json";

static void reply_body(struct http_request *request, const char *type,
	const struct buffer *body)
{
	if (body->overflowed) {
		http_reply_error(request, 500,
			"the answer is larger than %d MiB: ask for one node",
			BODY_MAX >> 20);
		return;
	}
	http_reply(request, 200, type, body->data, body->len);
}

static void serve_nodes(const struct api *api, struct http_request *request)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);

	body_write_nodes(&body, api->live, clock_monotonic_us(),
		clock_wall_us());
	reply_body(request, json_type, &body);
}

static void serve_node(const struct live_node *node,
	struct http_request *request)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);

	body_write_node(&body, node, clock_monotonic_us());
	reply_body(request, json_type, &body);
}

/* ---- history ---- */

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

/* On the reader's thread. A body that cannot be read is a gap. */
static bool on_row(void *owner, const struct store_row *row)
{
	struct past *past = owner;
	struct report report;

	if (wire_unpack_report(&report, row->body, row->len, NULL) == 0) {
		history_add(past->history, row->run_id, row->sample_ms * 1000,
			&report);
	}
	return true;
}

static void on_done(void *owner, const struct error *err)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	struct past *past = owner;

	if (err != NULL) {
		http_reply_error(past->request, 503, "%s", err->text);
	} else if (past->as_csv) {
		body_write_history_csv(&body, past->history);
		reply_body(past->request, "text/csv", &body);
	} else {
		body_write_history(&body, past->node, past->history);
		reply_body(past->request, json_type, &body);
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

static void serve_history(const struct api *api, const struct live_node *node,
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

/* ---- routes ---- */

/* "NAME" or "NAME/history" below /v1/nodes/. */
static void route_node(const struct api *api, struct http_request *request,
	const char *rest)
{
	const char *slash = strchrnul(rest, '/');
	scoped_free char *name = xstrndup(rest, (size_t)(slash - rest));
	const struct live_node *node = live_find(api->live, name);

	if (*slash != '\0' && strcmp(slash, "/history") != 0) {
		http_reply_error(request, 404, "no such path");
	} else if (node == NULL) {
		http_reply_error(request, 404, "no node '%.253s' is known",
			name);
	} else if (*slash == '\0') {
		serve_node(node, request);
	} else {
		serve_history(api, node, request);
	}
}

void api_serve(void *owner, struct http_request *request)
{
	static const char below[] = "/v1/nodes/";
	const struct api *api = owner;
	const char *method = http_method(request);
	const char *path = http_path(request);
	bool is_list = strcmp(path, "/v1/nodes") == 0;
	bool is_decisions = strcmp(path, "/v1/decisions") == 0;

	if (!is_list && !is_decisions &&
		strncmp(path, below, sizeof(below) - 1) != 0) {
		http_reply_error(request, 404, "no such path");
	} else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
		http_reply_error(request, 405, "only GET is possible here");
	} else if (is_decisions) {
		api_serve_decisions(api->store, request);
	} else if (is_list) {
		serve_nodes(api, request);
	} else {
		route_node(api, request, path + sizeof(below) - 1);
	}
}
