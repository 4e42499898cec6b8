#include "aggregator/http/api_history.h"

#include "aggregator/http/body.h"
#include "aggregator/query/history.h"
#include "lib/clock.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A query under way, and then its answer; while the query runs history is the
 * reader thread's. */
struct past {
	struct api *api;
	struct http_request *request;
	struct history *history;
	char namespace[STORE_NAME_MAX]; /* "": a node */
	char name[STORE_NAME_MAX];
	bool is_running; /* the VM has a pod now */
	struct history_text text;
};

static void past_free(struct past *past)
{
	past->api->streams--;
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

static bool on_rollup(void *owner, const struct store_rollup *rollup)
{
	struct past *past = owner;

	history_add_rollup(past->history, rollup->row);
	return true;
}

static bool on_next(void *owner, struct buffer *out)
{
	struct past *past = owner;

	return body_write_history(out, &past->text);
}

static void on_given(void *owner)
{
	past_free(owner);
}

static void on_done(void *owner, const struct error *err)
{
	struct past *past = owner;
	bool is_vm = past->namespace[0] != '\0';

	if (err != NULL && err->code == -ENOENT && !past->is_running) {
		api_refuse_vm(past->api, past->request,
			&(struct api_vm){ past->namespace, past->name, false });
		past_free(past);
		return;
	}
	if (err != NULL && err->code != -ENOENT) {
		http_reply_error(past->request, 503, "%s", err->text);
		past_free(past);
		return;
	}
	past->text.history = past->history;
	past->text.namespace = is_vm ? past->namespace : NULL;
	past->text.name = past->name;
	http_reply_stream(past->request, 200,
		past->text.as_csv ? "text/csv" : api_json,
		&(struct http_stream){ on_next, on_given, past });
}

static bool wants_csv(const struct http_request *request)
{
	const char *accept = http_header(request, "Accept");

	return accept != NULL && strcasestr(accept, "text/csv") != NULL;
}

static void start_query(struct past *past, const struct query *query)
{
	struct store_read read = { .tier = query->tier,
		.parts = history_parts(query),
		.row = on_row,
		.rollup = on_rollup,
		.done = on_done,
		.owner = past };
	struct error error;

	past->api->streams++;
	past->history = history_new(query);
	past->text.as_csv = wants_csv(past->request);
	if (query->is_vm) {
		memcpy(read.namespace, past->namespace, sizeof(read.namespace));
		memcpy(read.name, past->name, sizeof(read.name));
	} else {
		(void)snprintf(read.node, sizeof(read.node), "%s", past->name);
	}
	history_range_ms(&read.from_ms, &read.to_ms, query);
	if (store_query(past->api->store, &read, &error) < 0) {
		http_reply_error(past->request, 503, "%s", error.text);
		past_free(past);
	}
}

/* False: the request is over. */
static bool read_query(struct query *query, const struct api *api,
	struct http_request *request, bool is_vm, uint64_t interval_us)
{
	struct query_texts texts = {
		.from = http_query(request, "from"),
		.to = http_query(request, "to"),
		.step = http_query(request, "step"),
		.fields = http_query(request, "fields"),
	};
	struct query_about about = {
		.is_vm = is_vm,
		.now_us = clock_wall_us(),
		.interval_us = interval_us,
	};
	struct error error;

	memcpy(about.retention_us, api->retention_us,
		sizeof(about.retention_us));
	if (query_parse(query, &texts, &about, &error) < 0) {
		http_reply_error(request, 400, "%s", error.text);
		return false;
	}
	return api_has_stream(api, request);
}

void api_serve_node_history(struct api *api, const struct live_node *node,
	struct http_request *request)
{
	uint64_t interval_us = (uint64_t)live_node_interval_ms(node) * 1000;
	struct query query;
	struct past *past;

	if (!read_query(&query, api, request, false, interval_us)) {
		return;
	}
	past = xcalloc(1, sizeof(*past));
	past->api = api;
	past->request = request;
	(void)snprintf(past->name, sizeof(past->name), "%s",
		live_node_name(node));
	start_query(past, &query);
}

void api_serve_vm_history(struct api *api, const struct api_vm *vm,
	struct http_request *request)
{
	const uint64_t usual_interval_us = 2000000;
	struct query query;
	struct past *past;

	if (!read_query(&query, api, request, true, usual_interval_us)) {
		return;
	}
	past = xcalloc(1, sizeof(*past));
	past->api = api;
	past->request = request;
	past->is_running = vm->is_running;
	(void)snprintf(past->namespace, sizeof(past->namespace), "%s",
		vm->namespace);
	(void)snprintf(past->name, sizeof(past->name), "%s", vm->name);
	start_query(past, &query);
}
