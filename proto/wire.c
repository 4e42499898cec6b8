#include "proto/wire.h"

#include "lib/memory.h"
#include "proto/wire_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Field numbers of plimsoll.proto for the batches, which are framed by hand
 * because their entries are packed already. A test compares the frames with
 * those of the generated code. */
enum {
	FIELD_REQUEST_BATCH = 2,
	FIELD_BATCH_NODE = 1,
	FIELD_BATCH_RUN_ID = 2,
	FIELD_BATCH_SENT = 3,
	FIELD_BATCH_REPORTS = 4,
	FIELD_BATCH_EXPIRY = 5,
	FIELD_REQUEST_DECISIONS = 4,
	FIELD_REQUEST_MOVES = 6,
	FIELD_RECORDS = 1, /* of both */
};
enum { TYPE_VARINT = 0 };

/* ---- ours to wire ---- */

static size_t varint_size(uint64_t value)
{
	size_t size = 1;

	for (; value >= 0x80; value >>= 7) {
		size++;
	}
	return size;
}

/* Every field number here is below 16, so its tag is one byte. */
static void put_bytes(struct buffer *out, unsigned field, const void *bytes,
	size_t len)
{
	wire_put_varint(out, field << 3 | WIRE_TYPE_BYTES);
	wire_put_varint(out, len);
	buffer_append(out, bytes, len);
}

size_t wire_batched_size(size_t len)
{
	return 1 + varint_size(len) + len;
}

void wire_pack_batch(struct buffer *out, const struct batch_out *batch)
{
	size_t size = wire_batched_size(strlen(batch->node)) +
		wire_batched_size(REPORT_RUN_ID_BYTES) + 1 +
		varint_size(batch->sent_monotonic_us);
	bool has_expiry = batch->certificate_expiry_s != 0;

	size += has_expiry ? 1 + varint_size(batch->certificate_expiry_s) : 0;
	for (size_t i = 0; i < batch->count; i++) {
		size += wire_batched_size(batch->reports[i].len);
	}
	wire_put_varint(out, FIELD_REQUEST_BATCH << 3 | WIRE_TYPE_BYTES);
	wire_put_varint(out, size);
	put_bytes(out, FIELD_BATCH_NODE, batch->node, strlen(batch->node));
	put_bytes(out, FIELD_BATCH_RUN_ID, batch->run_id, REPORT_RUN_ID_BYTES);
	wire_put_varint(out, FIELD_BATCH_SENT << 3 | TYPE_VARINT);
	wire_put_varint(out, batch->sent_monotonic_us);
	for (size_t i = 0; i < batch->count; i++) {
		put_bytes(out, FIELD_BATCH_REPORTS, batch->reports[i].bytes,
			batch->reports[i].len);
	}
	if (has_expiry) {
		wire_put_varint(out, FIELD_BATCH_EXPIRY << 3 | TYPE_VARINT);
		wire_put_varint(out, batch->certificate_expiry_s);
	}
}

/* A request whose only field is a list of packed records. */
static void pack_records(struct buffer *out, unsigned request,
	const struct packed_record *records, size_t count)
{
	size_t size = 0;

	for (size_t i = 0; i < count; i++) {
		size += wire_batched_size(records[i].len);
	}
	wire_put_varint(out, request << 3 | WIRE_TYPE_BYTES);
	wire_put_varint(out, size);
	for (size_t i = 0; i < count; i++) {
		put_bytes(out, FIELD_RECORDS, records[i].bytes, records[i].len);
	}
}

void wire_pack_decisions(struct buffer *out,
	const struct packed_record *decisions, size_t count)
{
	pack_records(out, FIELD_REQUEST_DECISIONS, decisions, count);
}

void wire_pack_moves(struct buffer *out, const struct packed_record *moves,
	size_t count)
{
	pack_records(out, FIELD_REQUEST_MOVES, moves, count);
}

void wire_pack_hello(struct buffer *out, const struct hello *hello)
{
	Plimsoll__Hello wire = PLIMSOLL__HELLO__INIT;
	struct hello copy = *hello;

	wire.node = copy.node;
	wire.version = copy.version;
	wire.has_run_id = true;
	wire.run_id = (ProtobufCBinaryData){ sizeof(copy.run_id), copy.run_id };
	wire.token = copy.token;
	wire.has_role = true;
	wire.role = (Plimsoll__Role)copy.role;
	wire_append_as(out, PLIMSOLL__REQUEST__KIND_HELLO, &wire.base);
}

void wire_pack_snapshot_request(struct buffer *out,
	const struct snapshot_request *request)
{
	Plimsoll__SnapshotRequest wire = PLIMSOLL__SNAPSHOT_REQUEST__INIT;

	wire.has_epoch = true;
	wire.epoch = request->epoch;
	wire.has_rev = true;
	wire.rev = request->rev;
	wire_append_as(out, PLIMSOLL__REQUEST__KIND_SNAPSHOT, &wire.base);
}

void wire_pack_welcome(struct buffer *out, const char *version)
{
	Plimsoll__Welcome wire = PLIMSOLL__WELCOME__INIT;
	scoped_free char *copy = xstrdup(version);

	wire.version = copy;
	wire_append_as(out, PLIMSOLL__REPLY__KIND_WELCOME, &wire.base);
}

void wire_pack_ack(struct buffer *out, const struct ack *ack)
{
	Plimsoll__Ack wire = PLIMSOLL__ACK__INIT;

	wire.has_state = true;
	wire.state = ack->stored ? PLIMSOLL__ACK__STATE__STORED
				 : PLIMSOLL__ACK__STATE__RECEIVED;
	wire.has_need_hello = ack->need_hello;
	wire.need_hello = ack->need_hello;
	wire.has_is_failing = ack->is_failing;
	wire.is_failing = ack->is_failing;
	wire.has_interval_hint_ms = ack->interval_hint_ms != 0;
	wire.interval_hint_ms = ack->interval_hint_ms;
	wire_append_as(out, PLIMSOLL__REPLY__KIND_ACK, &wire.base);
}

void wire_pack_refused(struct buffer *out, const char *reason,
	uint32_t retry_ms)
{
	Plimsoll__Refused wire = PLIMSOLL__REFUSED__INIT;
	scoped_free char *copy = xstrdup(reason);

	wire.reason = copy;
	wire.has_retry_ms = retry_ms != 0;
	wire.retry_ms = retry_ms;
	wire_append_as(out, PLIMSOLL__REPLY__KIND_REFUSED, &wire.base);
}

/* ---- wire to ours ---- */

static int get_run_id(uint8_t *out, const ProtobufCBinaryData *bytes,
	struct error *err)
{
	if (bytes->len != REPORT_RUN_ID_BYTES) {
		return error_set(err, -EBADMSG, "run_id has %zu bytes, not %d",
			bytes->len, REPORT_RUN_ID_BYTES);
	}
	memcpy(out, bytes->data, REPORT_RUN_ID_BYTES);
	return 0;
}

static int get_token(char **out, const char *text, struct error *err)
{
	char token[WIRE_TOKEN_MAX + 1];
	int r;

	if (text == NULL) {
		return 0;
	}
	r = wire_get_name(token, sizeof(token), text, "token", err);
	if (r == 0) {
		*out = xstrdup(token);
	}
	explicit_bzero(token, sizeof(token));
	return r;
}

static int get_hello(struct hello *out, const Plimsoll__Hello *wire,
	struct error *err)
{
	int r = wire_get_name(out->node, sizeof(out->node), wire->node, "node",
		err);

	out->token = NULL;
	out->role = (enum hello_role)wire->role;
	wire_get_shown(out->version, sizeof(out->version), wire->version);
	if (r == 0) {
		r = wire_check_enum((int)wire->role, HELLO_SCHEDULER, "role",
			err);
	}
	if (r == 0) {
		r = get_run_id(out->run_id, &wire->run_id, err);
	}
	return r == 0 ? get_token(&out->token, wire->token, err) : r;
}

static void batch_fini(struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		report_fini(&batch->reports[i]);
	}
	free(batch->reports);
	free(batch->packed);
	batch->reports = NULL;
	batch->packed = NULL;
	batch->count = 0;
}

/* One block that outlives the unpacked message. */
static struct packed_report *copy_packed(const Plimsoll__Batch *wire)
{
	size_t size = wire->n_reports * sizeof(struct packed_report);
	struct packed_report *packed;
	uint8_t *at;

	for (size_t i = 0; i < wire->n_reports; i++) {
		size += wire->reports[i].len;
	}
	packed = xrealloc(NULL, 1, size);
	at = (uint8_t *)(packed + wire->n_reports);
	for (size_t i = 0; i < wire->n_reports; i++) {
		packed[i] = (struct packed_report){ at, wire->reports[i].len };
		if (packed[i].len > 0) {
			memcpy(at, wire->reports[i].data, packed[i].len);
		}
		at += packed[i].len;
	}
	return packed;
}

static int get_reports(struct batch *out, const Plimsoll__Batch *wire,
	ProtobufCAllocator *allocator, struct error *err)
{
	if (wire->n_reports == 0 || wire->n_reports > WIRE_REPORTS_MAX) {
		return error_set(err, -EBADMSG, "a batch has %zu reports",
			wire->n_reports);
	}
	out->packed = copy_packed(wire);
	out->reports = xcalloc(wire->n_reports, sizeof(*out->reports));
	for (; out->count < wire->n_reports; out->count++) {
		int r = wire_report_unpack(&out->reports[out->count],
			&out->packed[out->count], allocator, err);

		if (r < 0) {
			batch_fini(out);
			return r;
		}
	}
	return 0;
}

static int get_batch(struct batch *out, const Plimsoll__Batch *wire,
	ProtobufCAllocator *allocator, struct error *err)
{
	int r;

	*out = (struct batch){ .sent_monotonic_us = wire->sent_monotonic_us,
		.certificate_expiry_s = wire->certificate_expiry_s };
	r = wire_get_name(out->node, sizeof(out->node), wire->node, "node",
		err);
	if (r == 0) {
		r = get_run_id(out->run_id, &wire->run_id, err);
	}
	if (r == 0) {
		r = wire_check_time(wire->sent_monotonic_us,
			"sent_monotonic_us", err);
	}
	return r == 0 ? get_reports(out, wire, allocator, err) : r;
}

static int get_request(struct wire_request *out, const Plimsoll__Request *wire,
	ProtobufCAllocator *allocator, struct error *err)
{
	switch (wire->kind_case) {
	case PLIMSOLL__REQUEST__KIND_HELLO:
		out->kind = WIRE_HELLO;
		return get_hello(&out->hello, wire->hello, err);
	case PLIMSOLL__REQUEST__KIND_BATCH:
		out->kind = WIRE_BATCH;
		return get_batch(&out->batch, wire->batch, allocator, err);
	case PLIMSOLL__REQUEST__KIND_SNAPSHOT:
		out->kind = WIRE_SNAPSHOT_REQUEST;
		out->snapshot.epoch = wire->snapshot->epoch;
		out->snapshot.rev = wire->snapshot->rev;
		return 0;
	case PLIMSOLL__REQUEST__KIND_DECISIONS:
		out->kind = WIRE_DECISIONS;
		return wire_decisions_from(&out->decisions, wire->decisions,
			err);
	case PLIMSOLL__REQUEST__KIND_PROFILE:
		out->kind = WIRE_PROFILE_REQUEST;
		return wire_profile_request_from(&out->profile, wire->profile,
			err);
	case PLIMSOLL__REQUEST__KIND_MOVES:
		out->kind = WIRE_MOVES;
		return wire_moves_from(&out->moves, wire->moves, err);
	case PLIMSOLL__REQUEST__KIND_MOVES_REQUEST:
		out->kind = WIRE_MOVES_REQUEST;
		return wire_moves_request_from(&out->moves_request,
			wire->moves_request, err);
	case PLIMSOLL__REQUEST__KIND_QUESTION_REQUEST:
		out->kind = WIRE_QUESTION_REQUEST;
		return wire_question_request_from(&out->question_request,
			wire->question_request, err);
	case PLIMSOLL__REQUEST__KIND_ANSWER:
		out->kind = WIRE_ANSWER;
		return wire_answer_from(&out->answer, wire->answer, err);
	case PLIMSOLL__REQUEST__KIND__NOT_SET:
	default:
		return error_set(err, -EBADMSG, "unknown kind of request");
	}
}

int wire_unpack_request(struct wire_request *out, const uint8_t *bytes,
	size_t len, struct error *err)
{
	struct wire_budget budget;
	ProtobufCAllocator *allocator = wire_budget_init(&budget);
	Plimsoll__Request *wire =
		plimsoll__request__unpack(allocator, len, bytes);
	struct wire_request request;
	int r = wire == NULL
		? error_set(err, -EBADMSG, "cannot unpack the request")
		: get_request(&request, wire, allocator, err);

	wire_budget_fini(&budget);
	if (r == 0) {
		*out = request;
	}
	return r;
}

void wire_request_fini(struct wire_request *request)
{
	if (request->kind == WIRE_BATCH) {
		batch_fini(&request->batch);
	} else if (request->kind == WIRE_HELLO &&
		request->hello.token != NULL) {
		explicit_bzero(request->hello.token,
			strlen(request->hello.token));
		free(request->hello.token);
	} else if (request->kind == WIRE_DECISIONS) {
		free(request->decisions.records);
	} else if (request->kind == WIRE_MOVES) {
		free(request->moves.records);
	} else if (request->kind == WIRE_ANSWER) {
		free(request->answer.body);
	}
}

static int get_reply(struct wire_reply *out, const Plimsoll__Reply *wire,
	struct error *err)
{
	switch (wire->kind_case) {
	case PLIMSOLL__REPLY__KIND_WELCOME:
		out->kind = WIRE_WELCOME;
		wire_get_shown(out->welcome_version,
			sizeof(out->welcome_version), wire->welcome->version);
		return 0;
	case PLIMSOLL__REPLY__KIND_ACK:
		out->kind = WIRE_ACK;
		out->ack = (struct ack){
			.stored = wire->ack->state ==
				PLIMSOLL__ACK__STATE__STORED,
			.need_hello = wire->ack->need_hello != 0,
			.is_failing = wire->ack->is_failing != 0,
			.interval_hint_ms = wire->ack->interval_hint_ms,
		};
		return 0;
	case PLIMSOLL__REPLY__KIND_SNAPSHOT:
		out->kind = WIRE_SNAPSHOT;
		return wire_snapshot_from(&out->snapshot, wire->snapshot, err);
	case PLIMSOLL__REPLY__KIND_REFUSED:
		out->kind = WIRE_REFUSED;
		wire_get_shown(out->refused, sizeof(out->refused),
			wire->refused->reason);
		out->retry_ms = wire->refused->retry_ms;
		return 0;
	case PLIMSOLL__REPLY__KIND_PROFILE:
		out->kind = WIRE_PROFILE;
		return wire_profile_from(&out->profile, wire->profile, err);
	case PLIMSOLL__REPLY__KIND_MOVES:
		out->kind = WIRE_MOVE_LIST;
		return wire_move_list_from(&out->moves, wire->moves, err);
	case PLIMSOLL__REPLY__KIND_QUESTION:
		out->kind = WIRE_QUESTION;
		return wire_question_from(&out->question, wire->question, err);
	case PLIMSOLL__REPLY__KIND_ANSWER_ACK:
		out->kind = WIRE_ANSWER_ACK;
		out->answer_ack.is_wanted = wire->answer_ack->is_wanted != 0;
		return 0;
	case PLIMSOLL__REPLY__KIND__NOT_SET:
	default:
		return error_set(err, -EBADMSG, "unknown kind of reply");
	}
}

int wire_unpack_reply(struct wire_reply *out, const uint8_t *bytes, size_t len,
	struct error *err)
{
	struct wire_budget budget;
	ProtobufCAllocator *allocator = wire_budget_init(&budget);
	Plimsoll__Reply *wire = plimsoll__reply__unpack(allocator, len, bytes);
	struct wire_reply reply;
	int r = wire == NULL
		? error_set(err, -EBADMSG, "cannot unpack the reply")
		: get_reply(&reply, wire, err);

	wire_budget_fini(&budget);
	if (r == 0) {
		*out = reply;
	}
	return r;
}

void wire_reply_fini(struct wire_reply *reply)
{
	if (reply->kind == WIRE_SNAPSHOT) {
		snapshot_fini(&reply->snapshot);
	} else if (reply->kind == WIRE_MOVE_LIST) {
		free(reply->moves.records);
	} else if (reply->kind == WIRE_QUESTION) {
		free(reply->question.body);
	}
}
