#include "aggregator/http/api_decisions.h"

#include "aggregator/query/history_query.h"
#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LIMIT_DEFAULT = 100,
	BODY_MAX = 64 << 20, /* a full record is 30 KiB, most are 5 */
};

/* The body belongs to the reader thread while the query runs. */
struct response {
	struct httpd_request *request;
	struct buffer body;
	struct json json;
};

static void write_candidate(struct json *j, const struct decision_candidate *c)
{
	json_object(j, NULL);
	json_string(j, "node", c->node);
	json_number(j, "score", c->score);
	if (c->load_age_us != REPORT_UNKNOWN) {
		json_number(j, "load_age_s", (double)c->load_age_us / 1e6);
	}
#define X(field) json_number(j, #field, c->field);
	DECISION_SHARES(X)
#undef X
	json_object(j, "terms");
	for (size_t i = 0; i < c->term_count; i++) {
		json_number(j, c->terms[i].name, c->terms[i].points);
	}
	json_object_end(j);
	json_object_end(j);
}

static void write_rejections(struct json *j, const struct decision_record *r)
{
	json_array(j, "rejections");
	for (size_t i = 0; i < r->rejection_count; i++) {
		json_object(j, NULL);
		json_string(j, "reason", r->rejections[i].reason);
		json_unsigned(j, "nodes", r->rejections[i].nodes);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_record(struct json *j, const struct decision_record *r)
{
	char time[32];

	(void)snprintf(time, sizeof(time), "%" PRIu64 ".%03" PRIu64,
		r->wall_us / 1000000, r->wall_us / 1000 % 1000);
	json_object(j, NULL);
	json_raw(j, "time", time);
	json_string(j, "namespace", r->namespace);
	json_string(j, "pod", r->pod);
	json_string(j, "uid", r->uid);
	json_string(j, "policy", r->policy);
	if (r->chosen[0] == '\0') {
		json_null(j, "chosen");
	} else {
		json_string(j, "chosen", r->chosen);
	}
	json_unsigned(j, "nodes", r->nodes);
	json_unsigned(j, "feasible", r->feasible);
	json_number(j, "margin", r->margin);
	json_number(j, "past_s", r->past_seconds);
	json_number(j, "past_cores", r->past_cores);
	json_string(j, "sentence", r->sentence);
	json_array(j, "best");
	for (size_t i = 0; i < r->best_count; i++) {
		write_candidate(j, &r->best[i]);
	}
	json_array_end(j);
	write_rejections(j, r);
	json_object_end(j);
}

/* On the reader's thread. */
static bool on_record(void *owner, const struct decision_record *record)
{
	struct response *response = owner;

	write_record(&response->json, record);
	return !response->body.overflowed;
}

static void on_done(void *owner, const struct error *err)
{
	struct response *response = owner;

	json_array_end(&response->json);
	json_object_end(&response->json);
	if (err != NULL) {
		httpd_reply_error(response->request, 503, "%s", err->text);
	} else if (response->body.overflowed) {
		httpd_reply_error(response->request, 500,
			"the response is larger than %d MiB: lower the limit",
			BODY_MAX >> 20);
	} else {
		httpd_reply(response->request, 200, "application/json",
			response->body.data, response->body.len);
	}
	buffer_fini(&response->body);
	free(response);
}

/* ---- parameters ---- */

static int parse_pod(struct store_decisions_read *out, const char *text,
	struct error *err)
{
	const char *slash = text == NULL ? NULL : strchr(text, '/');
	size_t len = slash == NULL ? 0 : (size_t)(slash - text);

	if (text == NULL) {
		return 0;
	}
	if (len == 0 || len >= sizeof(out->namespace) || slash[1] == '\0' ||
		strchr(slash + 1, '/') != NULL ||
		strlen(slash + 1) >= sizeof(out->pod)) {
		return error_set(err, -EINVAL,
			"pod: '%.100s' is not NAMESPACE/NAME", text);
	}
	memcpy(out->namespace, text, len);
	memcpy(out->pod, slash + 1, strlen(slash + 1));
	return 0;
}

static int parse_limit(size_t *out, const char *text, struct error *err)
{
	const char *at = text;
	size_t value = 0;

	if (text == NULL) {
		*out = LIMIT_DEFAULT;
		return 0;
	}
	for (; *at >= '0' && *at <= '9' && value <= STORE_DECISIONS_MAX; at++) {
		value = value * 10 + (size_t)(*at - '0');
	}
	if (*at != '\0' || value == 0 || value > STORE_DECISIONS_MAX) {
		return error_set(err, -EINVAL,
			"limit: '%.40s' is not a number from 1 to %d", text,
			STORE_DECISIONS_MAX);
	}
	*out = value;
	return 0;
}

static int parse_range(struct store_decisions_read *out,
	const struct httpd_request *request, struct error *err)
{
	uint64_t from_us = 0;
	uint64_t to_us = clock_wall_us() + 1000;
	int r = history_query_parse_time(&from_us, "from",
		httpd_query(request, "from"), err);

	if (r == 0) {
		r = history_query_parse_time(&to_us, "to",
			httpd_query(request, "to"), err);
	}
	if (r == 0 && from_us >= to_us) {
		r = error_set(err, -EINVAL, "from is not before to");
	}
	if (r == 0) {
		out->from_ms = from_us / 1000;
		out->to_ms = to_us / 1000;
	}
	return r;
}

void api_decisions_serve(struct api *api, struct httpd_request *request)
{
	struct store_decisions_read read = { .record = on_record,
		.done = on_done };
	struct response *response;
	struct error error;
	int r = parse_pod(&read, httpd_query(request, "pod"), &error);

	if (r == 0) {
		r = parse_limit(&read.limit, httpd_query(request, "limit"),
			&error);
	}
	r = r == 0 ? parse_range(&read, request, &error) : r;
	if (r < 0) {
		httpd_reply_error(request, 400, "%s", error.text);
		return;
	}
	response = xcalloc(1, sizeof(*response));
	response->request = request;
	response->body = BUFFER_MAX(BODY_MAX);
	response->json = json_into(&response->body);
	json_object(&response->json, NULL);
	json_array(&response->json, "decisions");
	read.owner = response;
	if (store_query_decisions(api->store, &read, &error) < 0) {
		httpd_reply_error(request, 503, "%s", error.text);
		buffer_fini(&response->body);
		free(response);
	}
}
