#include "proto/move.h"

#include "lib/memory.h"
#include "proto/wire_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_names[MOVE_STATES] = {
	[MOVE_RECOMMENDED] = "recommended",
	[MOVE_WITHDRAWN] = "withdrawn",
	[MOVE_ORDERED] = "ordered",
	[MOVE_RUNNING] = "running",
	[MOVE_SUCCEEDED] = "succeeded",
	[MOVE_FAILED] = "failed",
};

static const char *const reason_names[MOVE_REASONS] = {
	[MOVE_FOR_CPU] = "cpu",
	[MOVE_FOR_MEMORY] = "memory",
	[MOVE_FOR_IO] = "io",
	[MOVE_FOR_KVM] = "kvm",
	[MOVE_FOR_ROOM] = "room",
	[MOVE_FOR_PLACEMENT] = "placement",
};

const char *move_state_name(enum move_state state)
{
	return state_names[state];
}

const char *move_reason_name(enum move_reason reason)
{
	return reason_names[reason];
}

bool move_state_parse(enum move_state *out, const char *name)
{
	for (size_t i = 0; i < count_of(state_names); i++) {
		if (strcmp(name, state_names[i]) == 0) {
			*out = (enum move_state)i;
			return true;
		}
	}
	return false;
}

uint64_t move_changed_us(const struct move_record *move)
{
	uint64_t changed_us = move->wall_us;

	if (move->ordered_us > changed_us) {
		changed_us = move->ordered_us;
	}
	return move->ended_us > changed_us ? move->ended_us : changed_us;
}

#define FIELD(kind, name) WIRE_FIELD(Plimsoll__Move, move_record, kind, name)

static const struct wire_field move_fields[] = { FIELD(PLAIN_U32, revision),
	FIELD(BOOL, is_other_scheduler), FIELD(BOOL, is_automatic),
	FIELD(PLAIN_U64, wall_us), FIELD(PLAIN_U64, ordered_us),
	FIELD(PLAIN_U64, ended_us),
#define X(name) FIELD(DOUBLE, name),
	MOVE_FIGURES(X)
#undef X
};

/* ---- ours to wire ---- */

static char *text_or_null(char *text)
{
	return text[0] == '\0' ? NULL : text;
}

/* A peer that knows fewer reasons reads a move for one of the last two as one
 * of these. */
static Plimsoll__MoveReason packed_reason(const struct move_record *move)
{
	switch (move->reason) {
	case MOVE_FOR_ROOM:
		return PLIMSOLL__MOVE_REASON__MOVE_FOR_MEMORY;
	case MOVE_FOR_PLACEMENT:
		return PLIMSOLL__MOVE_REASON__MOVE_FOR_CPU;
	default:
		return (Plimsoll__MoveReason)move->reason;
	}
}

static enum move_reason reason_of(const struct move_record *ours,
	const Plimsoll__Move *wire)
{
	if (*ours->room_for != '\0') {
		return MOVE_FOR_ROOM;
	}
	return wire->is_for_placement ? MOVE_FOR_PLACEMENT
				      : (enum move_reason)wire->reason;
}

/* *out points into *copy. */
static void put_move(Plimsoll__Move *out, struct move_record *copy)
{
	plimsoll__move__init(out);
	out->id = copy->id;
	out->namespace_ = copy->namespace;
	out->vm = copy->vm;
	out->vmi_uid = text_or_null(copy->vmi_uid);
	out->source = copy->source;
	out->target = text_or_null(copy->target);
	out->has_state = true;
	out->state = (Plimsoll__MoveState)copy->state;
	out->has_reason = true;
	out->reason = packed_reason(copy);
	out->migration = text_or_null(copy->migration);
	out->failure = text_or_null(copy->failure);
	out->sentence = text_or_null(copy->sentence);
	out->room_for = text_or_null(copy->room_for);
	out->room_for_uid = text_or_null(copy->room_for_uid);
	out->has_is_for_placement = copy->reason == MOVE_FOR_PLACEMENT;
	out->is_for_placement = out->has_is_for_placement;
	wire_put_fields(out, copy, WIRE_TABLE(move_fields));
}

void wire_pack_move(struct buffer *out, const struct move_record *move)
{
	struct move_record copy = *move;
	Plimsoll__Move wire;

	put_move(&wire, &copy);
	wire_append(out, &wire.base);
}

void wire_pack_moves_request(struct buffer *out,
	const struct moves_request *request)
{
	Plimsoll__MovesRequest wire = PLIMSOLL__MOVES_REQUEST__INIT;

	wire.has_since_us = true;
	wire.since_us = request->since_us;
	wire.has_after = true;
	wire.after = request->after;
	wire_append_as(out, PLIMSOLL__REQUEST__KIND_MOVES_REQUEST, &wire.base);
}

void wire_pack_move_list(struct buffer *out, const struct move_list *list)
{
	Plimsoll__MoveList wire = PLIMSOLL__MOVE_LIST__INIT;
	scoped_free Plimsoll__Move *moves =
		xcalloc(list->count, sizeof(*moves));
	scoped_free Plimsoll__Move **pointers =
		xcalloc(list->count, sizeof(Plimsoll__Move *));

	for (size_t i = 0; i < list->count; i++) {
		put_move(&moves[i], &list->records[i]);
		pointers[i] = &moves[i];
	}
	wire.n_moves = list->count;
	wire.moves = pointers;
	wire.has_next = list->next != 0;
	wire.next = list->next;
	wire_append_as(out, PLIMSOLL__REPLY__KIND_MOVES, &wire.base);
}

/* ---- wire to ours ---- */

static int get_names(struct move_record *ours, const Plimsoll__Move *wire,
	struct error *err)
{
	const struct {
		char *out;
		size_t size;
		const char *text, *what;
		bool is_optional;
	} names[] = {
#define NAME(field, is_optional)                                               \
	{ ours->field, sizeof(ours->field), wire->field, #field, is_optional }
		NAME(id, false),
		{ ours->namespace, sizeof(ours->namespace), wire->namespace_,
			"namespace", false },
		NAME(vm, false),
		NAME(vmi_uid, true),
		NAME(source, false),
		NAME(target, true),
		NAME(migration, true),
		NAME(room_for, true),
		NAME(room_for_uid, true),
#undef NAME
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < count_of(names); i++) {
		r = (names[i].is_optional ? wire_get_optional_name
					  : wire_get_name)(names[i].out,
			names[i].size, names[i].text, names[i].what, err);
	}
	return r;
}

static int check_numbers(const struct move_record *move, struct error *err)
{
	int r = move->revision == 0 ? error_set(err, -EBADMSG, "revision is 0")
				    : 0;

	if (r == 0) {
		r = wire_check_time(move->wall_us, "wall_us", err);
	}
	if (r == 0) {
		r = wire_check_time(move->ordered_us, "ordered_us", err);
	}
	return r == 0 ? wire_check_time(move->ended_us, "ended_us", err) : r;
}

static int move_from(struct move_record *ours, const Plimsoll__Move *wire,
	struct error *err)
{
	int r = get_names(ours, wire, err);

	if (r == 0) {
		r = wire_check_enum((int)wire->state, MOVE_STATES - 1, "state",
			err);
	}
	if (r == 0) {
		r = wire_check_enum((int)wire->reason, MOVE_REASONS - 1,
			"reason", err);
	}
	if (r == 0) {
		r = wire_get_fields(ours, wire, WIRE_TABLE(move_fields), err);
	}
	if (r < 0) {
		return r;
	}
	ours->state = (enum move_state)wire->state;
	ours->reason = reason_of(ours, wire);
	wire_get_shown(ours->failure, sizeof(ours->failure), wire->failure);
	wire_get_shown(ours->sentence, sizeof(ours->sentence), wire->sentence);
	return check_numbers(ours, err);
}

int wire_unpack_move(struct move_record *out, const uint8_t *bytes, size_t len,
	struct error *err)
{
	struct wire_budget budget;
	ProtobufCAllocator *allocator = wire_budget_init(&budget);
	Plimsoll__Move *wire = plimsoll__move__unpack(allocator, len, bytes);
	int r;

	*out = (struct move_record){ 0 };
	r = wire == NULL ? error_set(err, -EBADMSG, "cannot unpack the move")
			 : move_from(out, wire, err);
	wire_budget_fini(&budget);
	return r;
}

/* *out is NULL if there are none. */
static int records_from(struct move_record **out, Plimsoll__Move *const *wire,
	size_t count, struct error *err)
{
	struct move_record *records;
	int r = 0;

	if (count > WIRE_MOVES_MAX) {
		return error_set(err, -EBADMSG, "%zu moves are too many",
			count);
	}
	records = count == 0 ? NULL : xcalloc(count, sizeof(*records));
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = move_from(&records[i], wire[i], err);
	}
	if (r < 0) {
		free(records);
		return r;
	}
	*out = records;
	return 0;
}

int wire_moves_from(struct move_batch *out, const Plimsoll__MoveBatch *wire,
	struct error *err)
{
	if (wire->n_moves == 0) {
		return error_set(err, -EBADMSG, "a batch has no moves");
	}
	out->count = wire->n_moves;
	return records_from(&out->records, wire->moves, wire->n_moves, err);
}

/* A row of SQLite is a signed number. */
static int check_row(uint64_t row, const char *what, struct error *err)
{
	return row > INT64_MAX
		? error_set(err, -EBADMSG, "%s is out of range", what)
		: 0;
}

int wire_moves_request_from(struct moves_request *out,
	const Plimsoll__MovesRequest *wire, struct error *err)
{
	int r = wire_check_time(wire->since_us, "since_us", err);

	out->since_us = wire->since_us;
	out->after = wire->after;
	return r == 0 ? check_row(wire->after, "after", err) : r;
}

int wire_move_list_from(struct move_list *out, const Plimsoll__MoveList *wire,
	struct error *err)
{
	int r = check_row(wire->next, "next", err);

	out->count = wire->n_moves;
	out->next = wire->next;
	return r == 0
		? records_from(&out->records, wire->moves, wire->n_moves, err)
		: r;
}
