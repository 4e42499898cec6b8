/* Moves on the wire: every field there and back, and every refusal. */
#include "proto/wire.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <math.h>
#include <plimsoll.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 1 << 20 };

static const uint8_t *bytes_of(const struct buffer *b)
{
	return (const uint8_t *)(b->data == NULL ? "" : b->data);
}

static struct move_record full_move(void)
{
	struct move_record move = {
		.id = "0b7b5a3e-0c1d-4d8e-9a55-2f2a9a6f0001",
		.revision = 7,
		.namespace = "shop",
		.vm = "web-1",
		.vmi_uid = "u-1",
		.source = "node-1",
		.target = "node-2",
		.state = MOVE_FAILED,
		.reason = MOVE_FOR_ROOM,
		.room_for = "shop/virt-launcher-urgent-x7",
		.room_for_uid = "u-2",
		.is_other_scheduler = true,
		.is_automatic = true,
		.wall_us = 1780000000000000,
		.ordered_us = 1780000001000000,
		.ended_us = 1780000002000000,
		.migration = "plimsoll-web-1",
		.failure = "the target pod stayed pending for 120 s",
		.sentence = "node-1 is short of 2 cores",
	};
	double figure = 1;

#define X(field) move.field = figure++ / 7;
	MOVE_FIGURES(X)
#undef X
	return move;
}

static struct move_record least_move(void)
{
	struct move_record move = { .id = "i",
		.revision = 1,
		.namespace = "shop",
		.vm = "web-1",
		.source = "node-1" };

#define X(field) move.field = NAN;
	MOVE_FIGURES(X)
#undef X
	return move;
}

static void assert_same(const struct move_record *a,
	const struct move_record *b)
{
	assert_string_equal(a->id, b->id);
	assert_int_equal(a->revision, b->revision);
	assert_string_equal(a->namespace, b->namespace);
	assert_string_equal(a->vm, b->vm);
	assert_string_equal(a->vmi_uid, b->vmi_uid);
	assert_string_equal(a->source, b->source);
	assert_string_equal(a->target, b->target);
	assert_int_equal(a->state, b->state);
	assert_int_equal(a->reason, b->reason);
	assert_string_equal(a->room_for, b->room_for);
	assert_string_equal(a->room_for_uid, b->room_for_uid);
	assert_int_equal(a->is_other_scheduler, b->is_other_scheduler);
	assert_int_equal(a->is_automatic, b->is_automatic);
	assert_int_equal(a->wall_us, b->wall_us);
	assert_int_equal(a->ordered_us, b->ordered_us);
	assert_int_equal(a->ended_us, b->ended_us);
	assert_string_equal(a->migration, b->migration);
	assert_string_equal(a->failure, b->failure);
	assert_string_equal(a->sentence, b->sentence);
#define X(field)                                                               \
	assert_true(isnan(a->field) ? isnan(b->field) : a->field == b->field);
	MOVE_FIGURES(X)
#undef X
}

static int there_and_back(struct move_record *back,
	const struct move_record *move, struct error *err)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);

	wire_pack_move(&bytes, move);
	assert_false(bytes.overflowed);
	return wire_unpack_move(back, bytes_of(&bytes), bytes.len, err);
}

static void unpacks_the_move_that_was_packed(void **state)
{
	const struct move_record moves[] = { full_move(), least_move() };
	struct move_record back;

	(void)state;
	for (size_t i = 0; i < count_of(moves); i++) {
		assert_int_equal(there_and_back(&back, &moves[i], NULL), 0);
		assert_same(&moves[i], &back);
	}
}

/* Older programs refuse a message with a reason that they do not know. */
static void an_older_peer_can_read_a_move_that_makes_room(void **state)
{
	const struct move_record move = full_move();
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	Plimsoll__Move *wire;

	(void)state;
	assert_int_equal(move.reason, MOVE_FOR_ROOM);
	wire_pack_move(&bytes, &move);
	wire = plimsoll__move__unpack(NULL, bytes.len, bytes_of(&bytes));
	assert_non_null(wire);
	assert_true(wire->has_reason);
	assert_int_equal(wire->reason, MOVE_FOR_MEMORY);
	plimsoll__move__free_unpacked(wire, NULL);
}

static void an_older_peer_can_read_a_move_for_placement(void **state)
{
	struct move_record move = least_move();
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	Plimsoll__Move *wire;

	(void)state;
	move.reason = MOVE_FOR_PLACEMENT;
	wire_pack_move(&bytes, &move);
	wire = plimsoll__move__unpack(NULL, bytes.len, bytes_of(&bytes));
	assert_non_null(wire);
	assert_int_equal(wire->reason, MOVE_FOR_CPU);
	plimsoll__move__free_unpacked(wire, NULL);
}

static void a_move_that_names_no_pod_keeps_its_reason(void **state)
{
	static const enum move_reason reasons[] = { MOVE_FOR_CPU,
		MOVE_FOR_MEMORY, MOVE_FOR_IO, MOVE_FOR_KVM,
		MOVE_FOR_PLACEMENT };
	struct move_record move = least_move();
	struct move_record back;

	(void)state;
	for (size_t i = 0; i < count_of(reasons); i++) {
		move.reason = reasons[i];
		assert_int_equal(there_and_back(&back, &move, NULL), 0);
		assert_int_equal(back.reason, reasons[i]);
	}
}

static int batch_of(struct wire_request *request, size_t count,
	struct error *err)
{
	const struct move_record move = full_move();
	scoped_buffer struct buffer one = BUFFER_MAX(BYTES_MAX);
	scoped_buffer struct buffer out = BUFFER_MAX(BYTES_MAX);
	struct packed_record many[WIRE_MOVES_MAX + 1];

	wire_pack_move(&one, &move);
	for (size_t i = 0; i < count; i++) {
		many[i] = (struct packed_record){ bytes_of(&one), one.len };
	}
	wire_pack_moves(&out, many, count);
	return wire_unpack_request(request, bytes_of(&out), out.len, err);
}

static void packs_a_batch_of_moves_as_generated_code_does(void **state)
{
	const struct move_record move = full_move();
	struct wire_request request;

	(void)state;
	assert_int_equal(batch_of(&request, WIRE_MOVES_MAX, NULL), 0);
	assert_int_equal(request.kind, WIRE_MOVES);
	assert_int_equal(request.moves.count, WIRE_MOVES_MAX);
	assert_same(&move, &request.moves.records[WIRE_MOVES_MAX - 1]);
	wire_request_fini(&request);
}

static void refuses_too_many_moves_and_none(void **state)
{
	struct wire_request request;
	struct error err;

	(void)state;
	assert_int_equal(batch_of(&request, WIRE_MOVES_MAX + 1, &err),
		-EBADMSG);
	assert_string_equal(err.text, "65 moves are too many");
	assert_int_equal(batch_of(&request, 0, &err), -EBADMSG);
	assert_string_equal(err.text, "a batch has no moves");
}

static void unpacks_the_request_for_moves_that_was_packed(void **state)
{
	const struct moves_request asked = { 1780000000000000, 17 };
	scoped_buffer struct buffer out = BUFFER_MAX(BYTES_MAX);
	struct wire_request got;

	(void)state;
	wire_pack_moves_request(&out, &asked);
	assert_int_equal(
		wire_unpack_request(&got, bytes_of(&out), out.len, NULL), 0);
	assert_int_equal(got.kind, WIRE_MOVES_REQUEST);
	assert_int_equal(got.moves_request.since_us, asked.since_us);
	assert_int_equal(got.moves_request.after, asked.after);
	wire_request_fini(&got);
}

static void refuses_a_request_for_moves_with_impossible_numbers(void **state)
{
	const struct moves_request asked[] = { { UINT64_MAX, 0 },
		{ 0, UINT64_MAX } };

	(void)state;
	for (size_t i = 0; i < count_of(asked); i++) {
		scoped_buffer struct buffer out = BUFFER_MAX(BYTES_MAX);
		struct wire_request got;

		wire_pack_moves_request(&out, &asked[i]);
		assert_int_equal(wire_unpack_request(&got, bytes_of(&out),
					 out.len, NULL),
			-EBADMSG);
	}
}

static void unpacks_the_list_that_was_packed(void **state)
{
	struct move_record moves[] = { full_move(), least_move() };
	const struct move_list lists[] = { { moves, 2, 40 }, { NULL, 0, 0 } };

	(void)state;
	for (size_t i = 0; i < count_of(lists); i++) {
		scoped_buffer struct buffer out = BUFFER_MAX(BYTES_MAX);
		struct wire_reply got;

		wire_pack_move_list(&out, &lists[i]);
		assert_int_equal(
			wire_unpack_reply(&got, bytes_of(&out), out.len, NULL),
			0);
		assert_int_equal(got.kind, WIRE_MOVE_LIST);
		assert_int_equal(got.moves.next, lists[i].next);
		assert_int_equal(got.moves.count, lists[i].count);
		for (size_t k = 0; k < got.moves.count; k++) {
			assert_same(&moves[k], &got.moves.records[k]);
		}
		wire_reply_fini(&got);
	}
}

static void leaves_out_a_figure_that_readers_refuse(void **state)
{
	struct move_record move = full_move();
	struct move_record back;

	(void)state;
	move.gain = -1;
	move.price = (double)INFINITY;
	assert_int_equal(there_and_back(&back, &move, NULL), 0);
	assert_true(isnan(back.gain));
	assert_true(isnan(back.price));
	assert_true(back.copy_s > 0);
}

static void refuses_impossible_moves(void **state)
{
	struct move_record moves[10];
	static const char *const sentences[] = { "id has 0 bytes",
		"revision is 0", "vm holds a byte", "source has 0 bytes",
		"state has the unknown value 6",
		"reason has the unknown value 6", "ended_us is out of range",
		"wall_us is out of range", "room_for holds a byte",
		"ordered_us is out of range" };
	struct move_record back;
	struct error err;

	(void)state;
	for (size_t i = 0; i < count_of(moves); i++) {
		moves[i] = full_move();
	}
	moves[0].id[0] = '\0';
	moves[1].revision = 0;
	moves[2].vm[1] = ' ';
	moves[3].source[0] = '\0';
	moves[4].state = MOVE_STATES;
	moves[5].reason = MOVE_REASONS;
	moves[6].ended_us = WIRE_TIME_MAX_US + 1;
	moves[7].wall_us = UINT64_MAX;
	moves[8].room_for[4] = ' ';
	moves[9].ordered_us = WIRE_TIME_MAX_US + 1;
	for (size_t i = 0; i < count_of(moves); i++) {
		assert_int_equal(there_and_back(&back, &moves[i], &err),
			-EBADMSG);
		assert_non_null(strstr(err.text, sentences[i]));
	}
}

static void parses_the_names_of_states(void **state)
{
	enum move_state got;

	(void)state;
	for (enum move_state s = 0; s < MOVE_STATES; s++) {
		assert_true(move_state_parse(&got, move_state_name(s)));
		assert_int_equal(got, s);
	}
	assert_false(move_state_parse(&got, "done"));
	assert_string_equal(move_reason_name(MOVE_FOR_MEMORY), "memory");
	assert_string_equal(move_reason_name(MOVE_FOR_ROOM), "room");
	assert_string_equal(move_reason_name(MOVE_FOR_PLACEMENT), "placement");
}

static void a_move_changed_at_its_latest_time(void **state)
{
	struct move_record move = least_move();

	(void)state;
	move.wall_us = 5;
	assert_int_equal(move_changed_us(&move), 5);
	move.ordered_us = 7;
	assert_int_equal(move_changed_us(&move), 7);
	move.ended_us = 9;
	assert_int_equal(move_changed_us(&move), 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unpacks_the_move_that_was_packed),
		cmocka_unit_test(an_older_peer_can_read_a_move_that_makes_room),
		cmocka_unit_test(an_older_peer_can_read_a_move_for_placement),
		cmocka_unit_test(a_move_that_names_no_pod_keeps_its_reason),
		cmocka_unit_test(packs_a_batch_of_moves_as_generated_code_does),
		cmocka_unit_test(refuses_too_many_moves_and_none),
		cmocka_unit_test(unpacks_the_request_for_moves_that_was_packed),
		cmocka_unit_test(
			refuses_a_request_for_moves_with_impossible_numbers),
		cmocka_unit_test(unpacks_the_list_that_was_packed),
		cmocka_unit_test(leaves_out_a_figure_that_readers_refuse),
		cmocka_unit_test(refuses_impossible_moves),
		cmocka_unit_test(parses_the_names_of_states),
		cmocka_unit_test(a_move_changed_at_its_latest_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
