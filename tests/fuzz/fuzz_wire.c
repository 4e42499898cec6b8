/* The wire: a message that unpacks is packed, unpacked and packed again. Both
 * packings have the same bytes. */
#include "proto/wire.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/memory.h"

enum { PACKED_MAX = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *bytes_of(const struct buffer *b)
{
	return (const uint8_t *)(b->data == NULL ? "" : b->data);
}

static void assert_same(const struct buffer *a, const struct buffer *b)
{
	assert(!a->overflowed && !b->overflowed);
	assert(a->len == b->len);
	assert(memcmp(bytes_of(a), bytes_of(b), a->len) == 0);
}

static void pack_batch(struct buffer *out, const struct batch *batch)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(PACKED_MAX);
	scoped_free struct packed_report *packed =
		xcalloc(batch->count, sizeof(*packed));
	scoped_free size_t *ends = xcalloc(batch->count, sizeof(*ends));
	struct batch_out envelope = { batch->node, batch->run_id,
		batch->sent_monotonic_us, packed, batch->count,
		batch->certificate_expiry_s };

	for (size_t i = 0; i < batch->count; i++) {
		wire_pack_report(&bytes, &batch->reports[i]);
		ends[i] = bytes.len;
	}
	for (size_t i = 0; i < batch->count; i++) {
		size_t start = i == 0 ? 0 : ends[i - 1];

		packed[i].bytes = bytes_of(&bytes) + start;
		packed[i].len = ends[i] - start;
	}
	wire_pack_batch(out, &envelope);
}

static void pack_decisions(struct buffer *out,
	const struct decision_batch *batch)
{
	scoped_free struct buffer *bytes =
		xcalloc(batch->count, sizeof(*bytes));
	scoped_free struct packed_record *packed =
		xcalloc(batch->count, sizeof(*packed));

	for (size_t i = 0; i < batch->count; i++) {
		bytes[i] = BUFFER_MAX(PACKED_MAX);
		wire_pack_decision(&bytes[i], &batch->records[i]);
		packed[i].bytes = bytes_of(&bytes[i]);
		packed[i].len = bytes[i].len;
	}
	wire_pack_decisions(out, packed, batch->count);
	for (size_t i = 0; i < batch->count; i++) {
		buffer_fini(&bytes[i]);
	}
}

static void pack_moves(struct buffer *out, const struct move_batch *batch)
{
	scoped_free struct buffer *bytes =
		xcalloc(batch->count, sizeof(*bytes));
	scoped_free struct packed_record *packed =
		xcalloc(batch->count, sizeof(*packed));

	for (size_t i = 0; i < batch->count; i++) {
		bytes[i] = BUFFER_MAX(PACKED_MAX);
		wire_pack_move(&bytes[i], &batch->records[i]);
		packed[i].bytes = bytes_of(&bytes[i]);
		packed[i].len = bytes[i].len;
	}
	wire_pack_moves(out, packed, batch->count);
	for (size_t i = 0; i < batch->count; i++) {
		buffer_fini(&bytes[i]);
	}
}

static void pack_request(struct buffer *out, const struct wire_request *request)
{
	switch (request->kind) {
	case WIRE_HELLO:
		wire_pack_hello(out, &request->hello);
		break;
	case WIRE_BATCH:
		pack_batch(out, &request->batch);
		break;
	case WIRE_SNAPSHOT_REQUEST:
		wire_pack_snapshot_request(out, &request->snapshot);
		break;
	case WIRE_DECISIONS:
		pack_decisions(out, &request->decisions);
		break;
	case WIRE_PROFILE_REQUEST:
		wire_pack_profile_request(out, &request->profile);
		break;
	case WIRE_MOVES:
		pack_moves(out, &request->moves);
		break;
	case WIRE_MOVES_REQUEST:
		wire_pack_moves_request(out, &request->moves_request);
		break;
	case WIRE_QUESTION_REQUEST:
		wire_pack_question_request(out, &request->question_request);
		break;
	case WIRE_ANSWER:
		wire_pack_answer(out, &request->answer);
		break;
	}
}

static void pack_reply(struct buffer *out, const struct wire_reply *reply)
{
	switch (reply->kind) {
	case WIRE_WELCOME:
		wire_pack_welcome(out, reply->welcome_version);
		break;
	case WIRE_ACK:
		wire_pack_ack(out, &reply->ack);
		break;
	case WIRE_SNAPSHOT:
		wire_pack_snapshot(out, &reply->snapshot);
		break;
	case WIRE_REFUSED:
		wire_pack_refused(out, reply->refused, reply->retry_ms);
		break;
	case WIRE_PROFILE:
		wire_pack_profile(out, &reply->profile);
		break;
	case WIRE_MOVE_LIST:
		wire_pack_move_list(out, &reply->moves);
		break;
	case WIRE_QUESTION:
		wire_pack_question(out, &reply->question);
		break;
	case WIRE_ANSWER_ACK:
		wire_pack_answer_ack(out, &reply->answer_ack);
		break;
	}
}

/* False: it does not unpack. */
static bool repack_request(struct buffer *out, const uint8_t *data, size_t size)
{
	struct wire_request request;

	if (wire_unpack_request(&request, data, size, NULL) < 0) {
		return false;
	}
	pack_request(out, &request);
	wire_request_fini(&request);
	return true;
}

static bool repack_reply(struct buffer *out, const uint8_t *data, size_t size)
{
	struct wire_reply reply;

	if (wire_unpack_reply(&reply, data, size, NULL) < 0) {
		return false;
	}
	pack_reply(out, &reply);
	wire_reply_fini(&reply);
	return true;
}

static bool repack_report(struct buffer *out, const uint8_t *data, size_t size)
{
	struct report report;

	if (wire_unpack_report(&report, data, size, NULL) < 0) {
		return false;
	}
	wire_pack_report(out, &report);
	report_fini(&report);
	return true;
}

static bool repack_decision(struct buffer *out, const uint8_t *data,
	size_t size)
{
	static struct decision_record record;

	if (wire_unpack_decision(&record, data, size, NULL) < 0) {
		return false;
	}
	wire_pack_decision(out, &record);
	return true;
}

static bool repack_move(struct buffer *out, const uint8_t *data, size_t size)
{
	struct move_record move;

	if (wire_unpack_move(&move, data, size, NULL) < 0) {
		return false;
	}
	wire_pack_move(out, &move);
	return true;
}

static void check(bool (*repack)(struct buffer *, const uint8_t *, size_t),
	const uint8_t *data, size_t size)
{
	scoped_buffer struct buffer first = BUFFER_MAX(PACKED_MAX);
	scoped_buffer struct buffer second = BUFFER_MAX(PACKED_MAX);
	bool is_good;

	if (!repack(&first, data, size)) {
		return;
	}
	is_good = repack(&second, bytes_of(&first), first.len);
	assert(is_good);
	(void)is_good;
	assert_same(&first, &second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check(repack_request, data, size);
	check(repack_reply, data, size);
	check(repack_report, data, size);
	check(repack_decision, data, size);
	check(repack_move, data, size);
	return 0;
}
