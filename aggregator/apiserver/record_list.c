#include "aggregator/apiserver/record_list.h"

#include "aggregator/apiserver/record_objects.h"
#include "aggregator/http/api_records.h"
#include "aggregator/store/records.h"
#include "lib/http/httpd.h"
#include "lib/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the texts below. */
const char record_decision_fields[] =
	"metadata.name metadata.namespace spec.vmName spec.podName "
	"status.chosen";
const char record_move_fields[] =
	"metadata.name metadata.namespace spec.vmName spec.sourceNode "
	"spec.targetNode status.state";

/* A full decision is 40 KiB, most are 5. A page that would be larger ends
 * early. */
enum { BODY_MAX = 32 << 20, PAGE_BYTES = 4 << 20 };

/* Belongs to the reader's thread while the query runs. */
struct list {
	struct httpd_request *request;
	enum api_kind kind;
	enum accept_form form;
	enum api_include include;
	struct selector fields; /* owned */
	struct buffer body;
	struct json json;
	size_t count, limit;
	size_t seen; /* records that the store delivered */
	bool is_full;
	uint64_t epoch;
	uint64_t row; /* of the last record that was seen */
	uint64_t ms;  /* its time */
	char *name;   /* owned; NULL: a list */
};

static void list_free(struct list *list)
{
	selector_fini(&list->fields);
	buffer_fini(&list->body);
	free(list->name);
	free(list);
}

/* ---- fields ---- */

static bool has_decision_field(const void *owner, const char *key,
	const struct selector_values *values)
{
	const struct decision_object *decision = owner;
	const char *const texts[] = { decision->name,
		decision->record->namespace, decision->vm_name,
		decision->pod_name, decision->chosen };
	size_t place;

	return selector_key_place(&place, record_decision_fields, key) &&
		selector_values_have(values, texts[place]);
}

static bool has_move_field(const void *owner, const char *key,
	const struct selector_values *values)
{
	const struct move_object *move = owner;
	const char *const texts[] = { move->record.id, move->record.namespace,
		move->record.vm, move->record.source, move->record.target,
		move->state };
	size_t place;

	return selector_key_place(&place, record_move_fields, key) &&
		selector_values_have(values, texts[place]);
}

/* ---- on the reader's thread ---- */

static void write_item(struct list *list, const struct api_item *item)
{
	if (list->name != NULL) {
		api_write_one(&list->json, list->form, list->include, item);
	} else {
		api_write_item(&list->json, list->form, list->include, item);
	}
	list->count++;
}

/* Notes where the list can go on. False: the page ends. */
static bool go_on(struct list *list, uint64_t wall_us)
{
	list->ms = wall_us / 1000;
	list->is_full =
		list->count == list->limit || list->body.len > PAGE_BYTES;
	return !list->is_full;
}

static bool on_decision(void *owner, const struct decision_record *record)
{
	struct list *list = owner;
	scoped_free struct decision_object *object =
		xcalloc(1, sizeof(*object));
	const struct selector_object fields = { has_decision_field, object };

	list->seen++;
	decision_object_fill(object, record);
	if ((list->name == NULL || strcmp(list->name, object->name) == 0) &&
		selector_matches(&list->fields, &fields)) {
		write_item(list,
			&(struct api_item){ .kind = API_DECISIONS,
				.namespace = record->namespace,
				.name = object->name,
				.created_us = record->wall_us,
				.object = object });
	}
	decision_object_fini(object);
	return go_on(list, record->wall_us);
}

static bool on_move(void *owner, const struct store_move *move)
{
	struct list *list = owner;
	const struct move_record *record = &move->record;
	struct move_object object;
	const struct selector_object fields = { has_move_field, &object };

	list->seen++;
	list->row = move->row;
	move_object_fill(&object, record);
	if (selector_matches(&list->fields, &fields)) {
		write_item(list,
			&(struct api_item){ .kind = API_MOVES,
				.namespace = record->namespace,
				.name = record->id,
				.revision = record->revision,
				.created_us = record->wall_us,
				.object = &object });
	}
	move_object_fini(&object);
	return go_on(list, record->wall_us);
}

/* ---- the answer ---- */

static void end_list(struct list *list)
{
	bool is_complete = !list->is_full && list->seen < STORE_RECORDS_MAX;
	scoped_free char *key =
		xasprintf("%" PRIu64 "-%" PRIu64, list->ms, list->row);
	scoped_free char *next = is_complete
		? NULL
		: page_token_write(list->epoch, api_plural(list->kind), key);

	api_end_list(&list->json,
		&(struct api_list_end){ 0, next, REPORT_UNKNOWN });
}

static void on_done(void *owner, const struct error *err)
{
	struct list *list = owner;

	if (err == NULL && list->name == NULL) {
		end_list(list);
	}
	if (err != NULL) {
		httpd_reply_error(list->request, 503, "%s", err->text);
	} else if (list->name != NULL && list->count == 0) {
		httpd_reply_error(list->request, 404,
			"%s." API_GROUP " \"%.300s\" not found",
			api_plural(list->kind), list->name);
	} else if (list->body.overflowed) {
		httpd_reply_error(list->request, 500,
			"the response is larger than %d MiB", BODY_MAX >> 20);
	} else {
		httpd_reply(list->request, 200, accept_type(list->form),
			list->body.data, list->body.len);
	}
	list_free(list);
}

/* ---- the query ---- */

/* A value that the store itself can select by; it is checked again here. */
static void require(char *out, size_t size, const struct selector *fields,
	const char *key)
{
	const char *value = selector_required(fields, key);

	if (value != NULL && strlen(value) < size) {
		(void)snprintf(out, size, "%s", value);
	}
}

static void copy_namespace(char out[DECISION_NAME_MAX],
	const struct record_query *query)
{
	(void)snprintf(out, DECISION_NAME_MAX, "%s", query->namespace);
	if (query->namespace[0] == '\0') {
		require(out, DECISION_NAME_MAX, &query->fields,
			"metadata.namespace");
	}
}

static int read_decisions(struct store *store, struct record_query *query,
	struct list *list, struct error *err)
{
	struct store_decisions_read read = { .to_ms = INT64_MAX,
		.limit = STORE_RECORDS_MAX,
		.row = &list->row,
		.record = on_decision,
		.done = on_done,
		.owner = list };
	uint64_t wall_us;

	copy_namespace(read.namespace, query);
	if (query->name[0] != '\0') {
		if (!decision_object_parse_name(read.pod, &wall_us,
			    query->name)) {
			return -ENOENT;
		}
		read.from_ms = wall_us / 1000;
		read.to_ms = read.from_ms + 1;
	} else if (read.namespace[0] != '\0') {
		require(read.pod, sizeof(read.pod), &query->fields,
			"spec.podName");
		require(read.vm, sizeof(read.vm), &query->fields,
			"spec.vmName");
	}
	if (query->after[0] != '\0' &&
		!api_records_parse_place(&read.before_ms, &read.before_row,
			query->after)) {
		return error_set(err, -EINVAL, "continue: not a token");
	}
	return store_query_decisions(store, &read, err);
}

static int read_moves(struct store *store, struct record_query *query,
	struct list *list, struct error *err)
{
	struct store_moves_read read = { .before_ms = UINT64_MAX,
		.limit = STORE_RECORDS_MAX,
		.move = on_move,
		.done = on_done,
		.owner = list };

	copy_namespace(read.namespace, query);
	if (strlen(query->name) >= sizeof(read.id)) {
		return -ENOENT;
	}
	(void)snprintf(read.id, sizeof(read.id), "%s", query->name);
	if (read.namespace[0] != '\0') {
		require(read.vm, sizeof(read.vm), &query->fields,
			"spec.vmName");
	}
	if (query->after[0] != '\0' &&
		!api_records_parse_place(&read.before_ms, &read.before_row,
			query->after)) {
		return error_set(err, -EINVAL, "continue: not a token");
	}
	return store_query_moves(store, &read, err);
}

static struct list *list_new(struct record_query *query,
	struct httpd_request *request)
{
	struct list *list = xcalloc(1, sizeof(*list));
	size_t limit = query->limit == 0 ? RECORD_LIST_DEFAULT : query->limit;

	list->request = request;
	list->kind = query->kind;
	list->form = query->form;
	list->include = query->include;
	list->epoch = query->epoch;
	list->limit = limit < RECORD_LIST_MAX ? limit : RECORD_LIST_MAX;
	list->fields = query->fields;
	list->body = BUFFER_MAX(BODY_MAX);
	list->json = json_into(&list->body);
	list->name = query->name[0] == '\0' ? NULL : xstrdup(query->name);
	if (list->name == NULL) {
		api_begin_list(&list->json, list->form, list->kind);
	}
	return list;
}

void record_list_serve(struct store *store, struct record_query *query,
	struct httpd_request *request)
{
	struct list *list = list_new(query, request);
	struct error error = { 0 };
	int r = query->kind == API_DECISIONS
		? read_decisions(store, query, list, &error)
		: read_moves(store, query, list, &error);

	query->fields = (struct selector){ 0 };
	if (r == -ENOENT) {
		on_done(list, NULL);
	} else if (r == -EINVAL) {
		httpd_reply_error(request, 400, "%s", error.text);
		list_free(list);
	} else if (r < 0) {
		on_done(list, &error);
	}
}
