#include "aggregator/http/api_decisions.h"

#include "aggregator/http/api_records.h"
#include "aggregator/query/history_query.h"
#include "aggregator/store/records.h"
#include "lib/clock.h"
#include "lib/json.h"

#include <errno.h>
#include <string.h>

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
	X(cpu_room)
	DECISION_FIGURES(X)
#undef X
	json_object(j, "terms");
	for (size_t i = 0; i < c->term_count; i++) {
		json_number(j, c->terms[i].name, c->terms[i].points);
	}
	json_object_end(j);
	json_object_end(j);
}

static void write_names(struct json *j, const struct decision_record *r,
	const struct decision_rejection *rejection)
{
	const char *name = decision_names(r, rejection);

	json_array(j, "names");
	for (size_t i = 0; i < rejection->name_count; i++) {
		json_string(j, NULL, name);
		name += strlen(name) + 1;
	}
	json_array_end(j);
}

static void write_rejections(struct json *j, const struct decision_record *r)
{
	json_array(j, "rejections");
	for (size_t i = 0; i < r->rejection_count; i++) {
		json_object(j, NULL);
		json_string(j, "reason", r->rejections[i].reason);
		json_unsigned(j, "nodes", r->rejections[i].nodes);
		write_names(j, r, &r->rejections[i]);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_record(struct json *j, const struct decision_record *r)
{
	json_object(j, NULL);
	api_records_write_time(j, "time", r->wall_us);
	json_string(j, "namespace", r->namespace);
	json_string(j, "pod", r->pod);
	json_string(j, "uid", r->uid);
	api_records_write_text(j, "vm", r->vm);
	json_string(j, "policy", r->policy);
	api_records_write_text(j, "chosen", r->chosen);
	json_unsigned(j, "nodes", r->nodes);
	json_unsigned(j, "feasible", r->feasible);
	json_number(j, "margin", r->margin);
	api_records_write_text(j, "decided_by", r->decided_by);
	json_number(j, "decided_points", r->decided_points);
	json_number(j, "past_s", r->past_seconds);
	json_number(j, "past_cores", r->past_cores);
	json_number(j, "siblings", r->siblings);
	json_number(j, "siblings_correlation", r->siblings_correlation);
	json_number(j, "cache_age_s", r->cache_age_seconds);
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
	struct api_records *records = owner;

	write_record(&records->json, record);
	return api_records_has_room(records);
}

static void on_done(void *owner, const struct error *err)
{
	struct api_records *records = owner;

	json_array_end(&records->json);
	api_records_done(records, err);
}

/* ---- parameters ---- */

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

/* One namespace of both, because one index serves the query. */
static int parse_names(struct store_decisions_read *out,
	const struct httpd_request *request, struct error *err)
{
	char namespace[DECISION_NAME_MAX] = "";
	int r = api_records_parse_name(out->namespace, out->pod,
		sizeof(out->pod), request, "pod", err);

	if (r == 0) {
		r = api_records_parse_name(namespace, out->vm, sizeof(out->vm),
			request, "vm", err);
	}
	if (r == 0 && out->pod[0] != '\0' && out->vm[0] != '\0' &&
		strcmp(namespace, out->namespace) != 0) {
		r = error_set(err, -EINVAL,
			"pod and vm are of different namespaces");
	}
	if (r == 0 && out->vm[0] != '\0') {
		memcpy(out->namespace, namespace, sizeof(namespace));
	}
	return r;
}

void api_decisions_serve(void *owner, struct httpd_request *request)
{
	struct api *api = owner;
	struct store_decisions_read read = { .record = on_record,
		.done = on_done };
	struct api_records *records;
	struct error error;
	int r = parse_names(&read, request, &error);

	if (r == 0) {
		r = api_records_parse_limit(&read.limit, request, &error);
	}
	r = r == 0 ? parse_range(&read, request, &error) : r;
	if (r < 0) {
		httpd_reply_error(request, 400, "%s", error.text);
		return;
	}
	records = api_records_new(request, "decisions");
	read.owner = records;
	if (store_query_decisions(api->store, &read, &error) < 0) {
		on_done(records, &error);
	}
}
