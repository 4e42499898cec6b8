#include "proto/question.h"

#include "lib/memory.h"
#include "proto/wire_fields.h"

#include <errno.h>
#include <string.h>

/* ---- ours to wire ---- */

static ProtobufCBinaryData bytes_from(char *body, size_t len)
{
	return (ProtobufCBinaryData){ len, (uint8_t *)body };
}

static char *text_or_none(char *text)
{
	return *text == '\0' ? NULL : text;
}

void wire_pack_question_request(struct buffer *out,
	const struct question_request *request)
{
	Plimsoll__QuestionRequest wire = PLIMSOLL__QUESTION_REQUEST__INIT;
	struct question_request copy = *request;

	wire.has_term = true;
	wire.term = copy.term;
	wire.n_held = copy.held_count;
	wire.held = copy.held;
	wire.rebalance_mode = text_or_none(copy.rebalance.mode);
	wire.rebalance_why = text_or_none(copy.rebalance.why);
	wire.has_kinds = copy.kinds != 0;
	wire.kinds = copy.kinds;
	wire_append_as(out, PLIMSOLL__REQUEST__KIND_QUESTION_REQUEST,
		&wire.base);
}

void wire_pack_question(struct buffer *out, const struct question *question)
{
	Plimsoll__Question wire = PLIMSOLL__QUESTION__INIT;
	struct question copy = *question;

	if (copy.id != 0) {
		wire.has_id = true;
		wire.id = copy.id;
		wire.has_kind = true;
		wire.kind = (Plimsoll__QuestionKind)copy.kind;
		wire.namespace_ = text_or_none(copy.namespace);
		wire.has_is_visible = copy.is_visible;
		wire.is_visible = copy.is_visible;
		wire.has_body = true;
		wire.body = bytes_from(copy.body, copy.len);
	}
	wire_append_as(out, PLIMSOLL__REPLY__KIND_QUESTION, &wire.base);
}

void wire_pack_answer(struct buffer *out, const struct answer_part *answer)
{
	Plimsoll__Answer wire = PLIMSOLL__ANSWER__INIT;

	wire.has_id = true;
	wire.id = answer->id;
	wire.has_term = true;
	wire.term = answer->term;
	wire.has_status = true;
	wire.status = answer->status;
	wire.has_offset = answer->offset != 0;
	wire.offset = answer->offset;
	wire.has_body = true;
	wire.body = bytes_from(answer->body, answer->len);
	wire.has_has_more = answer->has_more;
	wire.has_more = answer->has_more;
	wire_append_as(out, PLIMSOLL__REQUEST__KIND_ANSWER, &wire.base);
}

void wire_pack_answer_ack(struct buffer *out, const struct answer_ack *ack)
{
	Plimsoll__AnswerAck wire = PLIMSOLL__ANSWER_ACK__INIT;

	wire.has_is_wanted = ack->is_wanted;
	wire.is_wanted = ack->is_wanted;
	wire_append_as(out, PLIMSOLL__REPLY__KIND_ANSWER_ACK, &wire.base);
}

/* ---- wire to ours ---- */

static int check_number(uint64_t number, const char *what, struct error *err)
{
	return number == 0 ? error_set(err, -EBADMSG, "%s is 0", what) : 0;
}

static int check_length(const ProtobufCBinaryData *bytes, size_t most,
	struct error *err)
{
	return bytes->len > most
		? error_set(err, -EBADMSG, "body has %zu bytes, not up to %zu",
			  bytes->len, most)
		: 0;
}

/* The copy ends with a NUL that is not counted. */
static char *copy_body(const ProtobufCBinaryData *bytes)
{
	char *body = xcalloc(1, bytes->len + 1);

	if (bytes->len > 0) {
		memcpy(body, bytes->data, bytes->len);
	}
	return body;
}

int wire_question_request_from(struct question_request *out,
	const Plimsoll__QuestionRequest *wire, struct error *err)
{
	if (wire->n_held > QUESTIONS_HELD_MAX) {
		return error_set(err, -EBADMSG, "%zu questions are too many",
			wire->n_held);
	}
	*out = (struct question_request){ .term = wire->term,
		.held_count = wire->n_held,
		.kinds = wire->kinds };
	for (size_t i = 0; i < wire->n_held; i++) {
		out->held[i] = wire->held[i];
	}
	wire_get_shown(out->rebalance.mode, sizeof(out->rebalance.mode),
		wire->rebalance_mode);
	wire_get_shown(out->rebalance.why, sizeof(out->rebalance.why),
		wire->rebalance_why);
	return check_number(wire->term, "term", err);
}

int wire_question_from(struct question *out, const Plimsoll__Question *wire,
	struct error *err)
{
	int r;

	*out = (struct question){ .id = wire->id };
	if (wire->id == 0) {
		return 0;
	}
	r = wire_check_enum((int)wire->kind, QUESTION_KINDS - 1, "kind", err);
	if (r == 0) {
		r = (question_spans_namespaces((enum question_kind)wire->kind)
				? wire_get_optional_name
				: wire_get_name)(out->namespace,
			sizeof(out->namespace), wire->namespace_, "namespace",
			err);
	}
	if (r == 0) {
		r = check_length(&wire->body, QUESTION_BODY_MAX, err);
	}
	if (r < 0) {
		return r;
	}
	out->kind = (enum question_kind)wire->kind;
	out->is_visible = wire->is_visible != 0;
	out->len = wire->body.len;
	out->body = copy_body(&wire->body);
	return 0;
}

static int check_part(const Plimsoll__Answer *wire, struct error *err)
{
	if (wire->status < 200 || wire->status > 599) {
		return error_set(err, -EBADMSG, "status %u is none of HTTP",
			wire->status);
	}
	if (wire->offset > ANSWER_BODY_MAX ||
		wire->body.len > ANSWER_BODY_MAX - wire->offset) {
		return error_set(err, -EBADMSG,
			"the answer is larger than %d bytes", ANSWER_BODY_MAX);
	}
	return check_length(&wire->body, ANSWER_PART_MAX, err);
}

int wire_answer_from(struct answer_part *out, const Plimsoll__Answer *wire,
	struct error *err)
{
	int r = check_number(wire->id, "id", err);

	if (r == 0) {
		r = check_number(wire->term, "term", err);
	}
	if (r == 0) {
		r = check_part(wire, err);
	}
	if (r < 0) {
		return r;
	}
	*out = (struct answer_part){ .id = wire->id,
		.term = wire->term,
		.status = wire->status,
		.offset = wire->offset,
		.has_more = wire->has_more != 0,
		.body = copy_body(&wire->body),
		.len = wire->body.len };
	return 0;
}
