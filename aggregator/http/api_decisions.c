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

/* A query under way; while it runs the body is the reader thread's. */
struct asked {
	struct http_request *request;
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
	struct asked *asked = owner;

	write_record(&asked->json, record);
	return !asked->body.overflowed;
}

static void on_done(void *owner, const struct error *err)
{
	struct asked *asked = owner;

	json_array_end(&asked->json);
	json_object_end(&asked->json);
	if (err != NULL) {
		http_reply_error(asked->request, 503, "%s", err->text);
	} else if (asked->body.overflowed) {
		http_reply_error(asked->request, 500,
			"the answer is larger than %d MiB: lower limit",
			BODY_MAX >> 20);
	} else {
		http_reply(asked->request, 200, "application/json",
			asked->body.data, asked->body.len);
	}
	buffer_fini(&asked->body);
	free(asked);
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
			"pod is '%.100s', not NAMESPACE/NAME", text);
	}
	memcpy(out->namespace, text, len);
	memcpy(out->pod, slash + 1, strlen(slash + 1));
	return 0;
}

static int parse_limit(size_t *out, const char *text, struct error *err)
{
	size_t value = 0;
	const char *at = text;

	if (text == NULL) {
		*out = LIMIT_DEFAULT;
		return 0;
	}
	while (*at >= '0' && *at <= '9' && value <= STORE_DECISIONS_MAX) {
		value = value * 10 + (size_t)(*at++ - '0');
	}
	if (*at != '\0' || value == 0 || value > STORE_DECISIONS_MAX) {
		return error_set(err, -EINVAL,
			"limit is '%.40s', not a number from 1 to %d", text,
			STORE_DECISIONS_MAX);
	}
	*out = value;
	return 0;
}

static int parse_range(struct store_decisions_read *out,
	const struct http_request *request, struct error *err)
{
	const char *from = http_query(request, "from");
	const char *to = http_query(request, "to");
	uint64_t from_us = 0;
	uint64_t to_us = clock_wall_us() + 1000;
	int r = from == NULL ? 0 : query_parse_time(&from_us, from, err);

	if (r < 0) {
		return error_wrap(err, r, "from");
	}
	r = to == NULL ? 0 : query_parse_time(&to_us, to, err);
	if (r < 0) {
		return error_wrap(err, r, "to");
	}
	if (from_us >= to_us) {
		return error_set(err, -EINVAL, "from is not before to");
	}
	out->from_ms = from_us / 1000;
	out->to_ms = to_us / 1000;
	return 0;
}

void api_serve_decisions(struct store *store, struct http_request *request)
{
	struct store_decisions_read read = { .record = on_record,
		.done = on_done };
	struct asked *asked;
	struct error error;
	int r = parse_pod(&read, http_query(request, "pod"), &error);

	if (r == 0) {
		r = parse_limit(&read.limit, http_query(request, "limit"),
			&error);
	}
	if (r == 0) {
		r = parse_range(&read, request, &error);
	}
	if (r < 0) {
		http_reply_error(request, 400, "%s", error.text);
		return;
	}
	asked = xcalloc(1, sizeof(*asked));
	asked->request = request;
	asked->body = BUFFER_MAX(BODY_MAX);
	asked->json = json_into(&asked->body);
	json_object(&asked->json, NULL);
	json_array(&asked->json, "decisions");
	read.owner = asked;
	if (store_query_decisions(store, &read, &error) < 0) {
		http_reply_error(request, 503, "%s", error.text);
		buffer_fini(&asked->body);
		free(asked);
	}
}
