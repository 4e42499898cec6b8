#include "aggregator/http/api_moves.h"

#include "aggregator/http/api_records.h"
#include "aggregator/store/records.h"
#include "lib/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "MILLISECONDS-ROW", the place of a move in the list. */
enum { CURSOR_MAX = 48 };

/* The list that is being written. */
struct moves {
	struct api_records *records;
	size_t count, limit;
	char next[CURSOR_MAX]; /* the last move's place */
};

static void write_move(struct json *j, const struct move_record *m)
{
	json_object(j, NULL);
	api_records_write_time(j, "time", m->wall_us);
	json_string(j, "id", m->id);
	json_unsigned(j, "revision", m->revision);
	json_string(j, "namespace", m->namespace);
	json_string(j, "vm", m->vm);
	api_records_write_text(j, "vmi_uid", m->vmi_uid);
	json_string(j, "source", m->source);
	api_records_write_text(j, "target", m->target);
	json_string(j, "state", move_state_name(m->state));
	json_string(j, "reason", move_reason_name(m->reason));
	if (*m->room_for != '\0') {
		json_string(j, "room_for", m->room_for);
	}
	json_bool(j, "is_automatic", m->is_automatic);
	json_bool(j, "is_other_scheduler", m->is_other_scheduler);
	api_records_write_time(j, "ordered", m->ordered_us);
	api_records_write_time(j, "ended", m->ended_us);
	api_records_write_text(j, "migration", m->migration);
	api_records_write_text(j, "failure", m->failure);
	json_string(j, "sentence", m->sentence);
#define X(field) json_number_or_null(j, #field, m->field);
	MOVE_FIGURES(X)
#undef X
	json_object_end(j);
}

/* On the reader's thread. */
static bool on_move(void *owner, const struct store_move *move)
{
	struct moves *moves = owner;

	write_move(&moves->records->json, &move->record);
	(void)snprintf(moves->next, sizeof(moves->next), "%" PRIu64 "-%" PRIu64,
		move->record.wall_us / 1000, move->row);
	moves->count++;
	return api_records_has_room(moves->records);
}

static void on_done(void *owner, const struct error *err)
{
	struct moves *moves = owner;
	struct json *j = &moves->records->json;

	json_array_end(j);
	api_records_write_text(j, "next",
		moves->count < moves->limit ? "" : moves->next);
	api_records_done(moves->records, err);
	free(moves);
}

/* ---- parameters ---- */

static int parse_before(struct store_moves_read *out, const char *text,
	struct error *err)
{
	out->before_ms = UINT64_MAX;
	if (text != NULL &&
		!api_records_parse_place(&out->before_ms, &out->before_row,
			text)) {
		return error_set(err, -EINVAL,
			"before: '%.60s' is not the \"next\" of an answer",
			text);
	}
	return 0;
}

static int parse_node(struct store_moves_read *out, const char *text,
	struct error *err)
{
	if (text != NULL &&
		(*text == '\0' || strlen(text) >= REPORT_NODE_MAX)) {
		return error_set(err, -EINVAL,
			"node: '%.100s' is not the name of a node", text);
	}
	(void)snprintf(out->node, sizeof(out->node), "%s",
		text == NULL ? "" : text);
	return 0;
}

static int parse_state(struct store_moves_read *out, const char *text,
	struct error *err)
{
	out->has_state = text != NULL;
	return text == NULL || move_state_parse(&out->state, text)
		? 0
		: error_set(err, -EINVAL,
			  "state: '%.40s' is not a state of a move", text);
}

static int parse(struct store_moves_read *out,
	const struct httpd_request *request, struct error *err)
{
	int r = api_records_parse_name(out->namespace, out->vm, sizeof(out->vm),
		request, "vm", err);

	if (r == 0) {
		r = parse_node(out, httpd_query(request, "node"), err);
	}
	if (r == 0) {
		r = parse_state(out, httpd_query(request, "state"), err);
	}
	if (r == 0) {
		r = parse_before(out, httpd_query(request, "before"), err);
	}
	return r == 0 ? api_records_parse_limit(&out->limit, request, err) : r;
}

void api_moves_serve(void *owner, struct httpd_request *request)
{
	struct api *api = owner;
	struct store_moves_read read = { .move = on_move, .done = on_done };
	struct moves *moves;
	struct error error;

	if (parse(&read, request, &error) < 0) {
		httpd_reply_error(request, 400, "%s", error.text);
		return;
	}
	moves = xcalloc(1, sizeof(*moves));
	moves->records = api_records_new(request, "moves");
	moves->limit = read.limit;
	read.owner = moves;
	if (store_query_moves(api->store, &read, &error) < 0) {
		on_done(moves, &error);
	}
}
