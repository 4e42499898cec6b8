#include "aggregator/http/api_history.h"

#include "aggregator/http/body.h"
#include "aggregator/http/reply.h"
#include "aggregator/http/sources_text.h"
#include "aggregator/query/history.h"
#include "lib/clock.h"
#include "lib/memory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* history belongs to the reader thread while the query runs. */
struct response {
	struct api *api;
	struct httpd_request *request;
	struct history *history;
	char namespace[STORE_NAME_MAX]; /* "": a node */
	char name[STORE_NAME_MAX];
	bool is_live;	/* the node, or a pod of the VM */
	bool is_stored; /* the store knows it */
	uint64_t interval_us;
	struct history_text text;
};

static void response_free(void *owner)
{
	struct response *response = owner;

	history_free(response->history);
	free(response);
}

/* On the reader's thread. */
static bool on_row(void *owner, const struct store_row *row)
{
	struct response *response = owner;

	history_add(response->history, row->run_id, row->sample_ms * 1000,
		row->report);
	return true;
}

static bool on_rollup(void *owner, const struct store_rollup *rollup)
{
	struct response *response = owner;

	history_add_rollup(response->history, rollup->row);
	return true;
}

static bool on_next(void *owner, struct buffer *out)
{
	struct response *response = owner;

	return body_write_history(out, &response->text);
}

static void reply_not_found(const struct response *response)
{
	if (response->namespace[0] != '\0') {
		reply_vm_not_found(response->api, response->request,
			&(struct api_vm){ response->namespace, response->name,
				false });
	} else {
		httpd_reply_error(response->request, 404,
			"no node '%.253s' has reported", response->name);
	}
}

static bool is_vm(const struct response *response)
{
	return response->namespace[0] != '\0';
}

static void reply(struct response *response)
{
	struct history_text *text = &response->text;

	text->history = response->history;
	text->namespace = is_vm(response) ? response->namespace : NULL;
	text->name = response->name;
	sources_set_header(response->request, &text->sources);
	httpd_reply_stream(response->request, 200,
		text->as_csv ? "text/csv" : reply_json,
		&(struct httpd_stream){ on_next, response_free, response });
}

/* ---- the engine of remote read ---- */

static bool is_abandoned(void *owner)
{
	const struct response *response = owner;

	return httpd_is_abandoned(response->request);
}

static bool has_values(const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (isfinite(values[i])) {
			return true;
		}
	}
	return false;
}

/* A node or VM that neither the store nor the engine knows is not found. */
static void on_remote(void *owner, double *values, const struct error *err)
{
	struct response *response = owner;
	const struct history_query *query = history_query(response->history);
	struct sources *sources = &response->text.sources;
	size_t rows = (size_t)((sources->joined_us - query->from_us) /
		query->step_us);
	bool is_known = response->is_stored || response->is_live ||
		(values != NULL &&
			has_values(values, rows * query->field_count));

	if (!is_known && (err == NULL || err->code == -ENOENT)) {
		reply_not_found(response);
	} else if (!is_known) {
		httpd_reply_error(response->request, 503,
			"nothing of it is stored here, and remote read "
			"failed: %s",
			err->text);
	}
	if (!is_known) {
		free(values);
		response_free(response);
		return;
	}
	if (err != NULL && err->code != -ENOENT) {
		sources->error = *err;
	}
	if (values != NULL) {
		history_join(response->history, values, rows);
	}
	reply(response);
}

static void ask_remote(struct response *response, size_t rows)
{
	const struct history_query *query = history_query(response->history);

	response->text.sources.joined_us =
		query->from_us + rows * query->step_us;
	remote_read_ask(response->api->remote_read,
		&(struct remote_read_question){
			.node = is_vm(response) ? NULL : response->name,
			.namespace = response->namespace,
			.name = response->name,
			.query = query,
			.rows = rows,
			.interval_us = response->interval_us,
			.is_abandoned = is_abandoned,
			.done = on_remote,
			.owner = response });
}

static void on_done(void *owner, const struct error *err)
{
	struct response *response = owner;
	const struct history_query *query = history_query(response->history);
	bool has_remote = response->api->remote_read != NULL;
	size_t missing;

	response->is_stored = err == NULL;
	if (err != NULL && err->code != -ENOENT) {
		httpd_reply_error(response->request, 503, "%s", err->text);
		response_free(response);
		return;
	}
	response->text.sources = (struct sources){ .is_known = has_remote,
		.from_us = query->from_us,
		.joined_us = query->from_us,
		.to_us = query->to_us };
	missing = has_remote ? history_missing_rows(response->history) : 0;
	if (missing > 0) {
		ask_remote(response, missing);
	} else if (!response->is_stored && !response->is_live) {
		reply_not_found(response);
		response_free(response);
	} else {
		reply(response);
	}
}

static bool wants_csv(const struct httpd_request *request)
{
	const char *accept = httpd_header(request, "Accept");

	return accept != NULL && strcasestr(accept, "text/csv") != NULL;
}

static void start_query(struct response *response,
	const struct history_query *query)
{
	struct store_read read = { .tier = query->tier,
		.parts = history_parts(query),
		.row = on_row,
		.rollup = on_rollup,
		.done = on_done,
		.owner = response };
	struct error error;

	response->history = history_new(query);
	response->text.as_csv = wants_csv(response->request);
	if (query->is_vm) {
		memcpy(read.namespace, response->namespace,
			sizeof(read.namespace));
		memcpy(read.name, response->name, sizeof(read.name));
	} else {
		(void)snprintf(read.node, sizeof(read.node), "%s",
			response->name);
	}
	history_range_ms(&read.from_ms, &read.to_ms, query);
	if (store_query(response->api->store, &read, &error) < 0) {
		httpd_reply_error(response->request, 503, "%s", error.text);
		response_free(response);
	}
}

/* False: the request has ended. */
static bool read_query(struct history_query *query, const struct api *api,
	struct httpd_request *request, bool is_vm, uint64_t interval_us)
{
	struct history_query_params params = {
		.from = httpd_query(request, "from"),
		.to = httpd_query(request, "to"),
		.step = httpd_query(request, "step"),
		.fields = httpd_query(request, "fields"),
	};
	struct history_query_context context = {
		.is_vm = is_vm,
		.now_us = clock_wall_us(),
		.interval_us = interval_us,
	};
	struct error error;

	memcpy(context.retention_us, api->retention_us,
		sizeof(context.retention_us));
	if (history_query_parse(query, &params, &context, &error) < 0) {
		httpd_reply_error(request, 400, "%s", error.text);
		return false;
	}
	return httpd_take_stream(request);
}

void api_history_serve(struct api *api, const struct api_history *of,
	struct httpd_request *request)
{
	const uint64_t usual_interval_us = 2000000;
	const struct live_node *live =
		of->node == NULL ? NULL : live_find(api->live, of->node);
	uint64_t interval_us = live == NULL
		? usual_interval_us
		: (uint64_t)live_node_interval_ms(live) * 1000;
	struct history_query query;
	struct response *response;

	if (!read_query(&query, api, request, of->vm != NULL, interval_us)) {
		return;
	}
	response = xcalloc(1, sizeof(*response));
	response->api = api;
	response->request = request;
	response->interval_us = interval_us;
	response->text.begin = of->begin;
	response->is_live = of->vm == NULL ? live != NULL : of->vm->is_running;
	(void)snprintf(response->namespace, sizeof(response->namespace), "%s",
		of->vm == NULL ? "" : of->vm->namespace);
	(void)snprintf(response->name, sizeof(response->name), "%s",
		of->vm == NULL ? of->node : of->vm->name);
	start_query(response, &query);
}
