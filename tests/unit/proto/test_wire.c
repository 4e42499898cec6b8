/* Requests and replies: there and back, refusals, and broken bytes. */
#include "proto/wire.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <plimsoll.pb-c.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 32 << 20 };

static const uint8_t run_id[REPORT_RUN_ID_BYTES] = { 0, 1, 2, 3, 4, 5, 6, 7,
	0xff, 9, 10, 11, 12, 13, 14, 15 };

static const uint8_t *bytes_of(const struct buffer *b)
{
	return (const uint8_t *)(b->data == NULL ? "" : b->data);
}

static int unpack_request(struct wire_request *out, const struct buffer *bytes,
	struct error *err)
{
	return wire_unpack_request(out, bytes_of(bytes), bytes->len, err);
}

static int unpack_reply(struct wire_reply *out, const struct buffer *bytes,
	struct error *err)
{
	return wire_unpack_reply(out, bytes_of(bytes), bytes->len, err);
}

static void pack_generated(struct buffer *out, const ProtobufCMessage *message)
{
	size_t size = protobuf_c_message_get_packed_size(message);
	scoped_free uint8_t *bytes = xcalloc(size, 1);

	assert_int_equal(protobuf_c_message_pack(message, bytes), size);
	buffer_append(out, bytes, size);
	assert_false(out->overflowed);
}

/* ---- small messages ---- */

static void unpacks_the_hello_that_was_packed(void **state)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	struct hello hello = { .node = "worker-1", .version = "v1.2-3-gabc" };
	struct wire_request got;

	(void)state;
	memcpy(hello.run_id, run_id, sizeof(run_id));
	wire_pack_hello(&bytes, &hello);
	assert_int_equal(unpack_request(&got, &bytes, NULL), 0);
	assert_int_equal(got.kind, WIRE_HELLO);
	assert_string_equal(got.hello.node, "worker-1");
	assert_string_equal(got.hello.version, "v1.2-3-gabc");
	assert_memory_equal(got.hello.run_id, run_id, sizeof(run_id));
	wire_request_fini(&got);
}

static void unpacks_the_snapshot_request_that_was_packed(void **state)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	struct snapshot_request request = { UINT64_MAX, 17 };
	struct wire_request got;

	(void)state;
	wire_pack_snapshot_request(&bytes, &request);
	assert_int_equal(unpack_request(&got, &bytes, NULL), 0);
	assert_int_equal(got.kind, WIRE_SNAPSHOT_REQUEST);
	assert_true(got.snapshot.epoch == UINT64_MAX);
	assert_int_equal(got.snapshot.rev, 17);
	wire_request_fini(&got);
}

static void unpacks_the_ack_that_was_packed(void **state)
{
	static const uint32_t hints[] = { 0, 1, 5000, UINT32_MAX };

	(void)state;
	for (unsigned i = 0; i < 32; i++) {
		scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
		struct ack ack = { (i & 1) != 0, (i & 2) != 0, hints[i / 4 % 4],
			i >= 16 };
		struct wire_reply got;

		wire_pack_ack(&bytes, &ack);
		assert_int_equal(unpack_reply(&got, &bytes, NULL), 0);
		assert_int_equal(got.kind, WIRE_ACK);
		assert_int_equal(got.ack.stored, ack.stored);
		assert_int_equal(got.ack.need_hello, ack.need_hello);
		assert_int_equal(got.ack.is_failing, ack.is_failing);
		assert_int_equal(got.ack.interval_hint_ms,
			ack.interval_hint_ms);
		wire_reply_fini(&got);
	}
}

static void makes_shown_texts_printable_and_cuts_them(void **state)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	char text[1000];
	struct wire_reply got;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "a\nb\x7f", 4);
	wire_pack_refused(&bytes, text, 0);
	assert_int_equal(unpack_reply(&got, &bytes, NULL), 0);
	assert_int_equal(got.kind, WIRE_REFUSED);
	assert_int_equal(strlen(got.refused), sizeof(got.refused) - 1);
	assert_memory_equal(got.refused, "a?b?xxx", 7);
	wire_reply_fini(&got);

	buffer_clear(&bytes);
	wire_pack_welcome(&bytes, text);
	assert_int_equal(unpack_reply(&got, &bytes, NULL), 0);
	assert_int_equal(got.kind, WIRE_WELCOME);
	assert_int_equal(strlen(got.welcome_version),
		sizeof(got.welcome_version) - 1);
	assert_memory_equal(got.welcome_version, "a?b?xxx", 7);
	wire_reply_fini(&got);

	buffer_clear(&bytes);
	wire_pack_refused(&bytes, "not now", 0);
	assert_int_equal(unpack_reply(&got, &bytes, NULL), 0);
	assert_string_equal(got.refused, "not now");
	assert_int_equal(got.retry_ms, 0);
	wire_reply_fini(&got);

	buffer_clear(&bytes);
	wire_pack_refused(&bytes, "later", 1000);
	assert_int_equal(unpack_reply(&got, &bytes, NULL), 0);
	assert_int_equal(got.retry_ms, 1000);
	wire_reply_fini(&got);
}

/* ---- refusals ---- */

struct parts {
	Plimsoll__Hello hello;
	Plimsoll__Batch batch;
	Plimsoll__Report report;
	Plimsoll__Report *reports[WIRE_REPORTS_MAX + 1];
	ProtobufCBinaryData packed[WIRE_REPORTS_MAX + 1];
	uint8_t packed_bytes[WIRE_REPORTS_MAX + 1][64];
	char node[REPORT_NODE_MAX + 1];
	uint8_t run_id[REPORT_RUN_ID_BYTES + 1];
};

static void make_parts(struct parts *p)
{
	*p = (struct parts){ .node = "worker-1" };
	plimsoll__hello__init(&p->hello);
	plimsoll__batch__init(&p->batch);
	plimsoll__report__init(&p->report);
	for (size_t i = 0; i < count_of(p->reports); i++) {
		p->reports[i] = &p->report;
	}
	p->report.has_seq = true;
	p->report.seq = 1;
	p->report.has_monotonic_us = true;
	p->report.monotonic_us = 1;
	p->report.has_interval_ms = true;
	p->report.interval_ms = 1000;
	p->hello.node = p->node;
	p->hello.has_run_id = true;
	p->hello.run_id.len = REPORT_RUN_ID_BYTES;
	p->hello.run_id.data = p->run_id;
	p->batch.node = p->node;
	p->batch.has_run_id = true;
	p->batch.run_id = p->hello.run_id;
	p->batch.has_sent_monotonic_us = true;
	p->batch.n_reports = 1;
	p->batch.reports = p->packed;
}

static int send_hello(struct error *err, struct parts *p)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	Plimsoll__Request request = PLIMSOLL__REQUEST__INIT;
	struct wire_request got;
	int r;

	request.kind_case = PLIMSOLL__REQUEST__KIND_HELLO;
	request.hello = &p->hello;
	pack_generated(&bytes, &request.base);
	r = unpack_request(&got, &bytes, err);
	if (r == 0) {
		wire_request_fini(&got);
	}
	return r;
}

static void pack_reports(struct parts *p)
{
	for (size_t i = 0; i < p->batch.n_reports; i++) {
		const Plimsoll__Report *report = p->reports[i];
		uint8_t *bytes = p->packed_bytes[i];

		assert_true(plimsoll__report__get_packed_size(report) <=
			sizeof(p->packed_bytes[i]));
		p->packed[i].data = bytes;
		p->packed[i].len = plimsoll__report__pack(report, bytes);
	}
}

static int send_batch(struct error *err, struct parts *p)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	Plimsoll__Request request = PLIMSOLL__REQUEST__INIT;
	struct wire_request got;
	int r;

	request.kind_case = PLIMSOLL__REQUEST__KIND_BATCH;
	request.batch = &p->batch;
	pack_reports(p);
	pack_generated(&bytes, &request.base);
	r = unpack_request(&got, &bytes, err);
	if (r == 0) {
		wire_request_fini(&got);
	}
	return r;
}

static void refused_both(struct parts *p, const char *reason)
{
	struct error err = { 0 };

	assert_int_equal(send_hello(&err, p), -EBADMSG);
	assert_string_equal(err.text, reason);
	err.text[0] = '\0';
	assert_int_equal(send_batch(&err, p), -EBADMSG);
	assert_string_equal(err.text, reason);
}

static void refuses_a_hello_without_an_identity(void **state)
{
	struct parts p;

	(void)state;
	make_parts(&p);
	assert_int_equal(send_hello(NULL, &p), 0);
	assert_int_equal(send_batch(NULL, &p), 0);
	memset(p.node, 'n', REPORT_NODE_MAX - 1);
	assert_int_equal(send_hello(NULL, &p), 0);
	p.node[REPORT_NODE_MAX - 1] = 'n';
	refused_both(&p, "node has 254 bytes, not 1 to 253");
	memcpy(p.node, "a b", 4);
	refused_both(&p, "node holds a byte that is not printable");
	memcpy(p.node, "a\nb", 4);
	refused_both(&p, "node holds a byte that is not printable");
	memcpy(p.node, "\xc3\xb6", 3);
	refused_both(&p, "node holds a byte that is not printable");
	p.node[0] = '\0';
	refused_both(&p, "node has 0 bytes, not 1 to 253");
	p.hello.node = NULL;
	p.batch.node = NULL;
	refused_both(&p, "node has 0 bytes, not 1 to 253");
}

static void refuses_a_run_id_of_the_wrong_length(void **state)
{
	struct parts p;

	(void)state;
	make_parts(&p);
	p.hello.run_id.len = 15;
	p.batch.run_id.len = 15;
	refused_both(&p, "run_id has 15 bytes, not 16");
	p.hello.run_id.len = 17;
	p.batch.run_id.len = 17;
	refused_both(&p, "run_id has 17 bytes, not 16");
	p.hello.run_id.len = 0;
	p.batch.run_id.len = 0;
	refused_both(&p, "run_id has 0 bytes, not 16");
	p.hello.has_run_id = false;
	p.batch.has_run_id = false;
	refused_both(&p, "run_id has 0 bytes, not 16");
}

static void refuses_an_impossible_batch(void **state)
{
	struct error err = { 0 };
	struct parts p;

	(void)state;
	make_parts(&p);
	p.batch.n_reports = 0;
	assert_int_equal(send_batch(&err, &p), -EBADMSG);
	assert_string_equal(err.text, "a batch has 0 reports");
	p.batch.n_reports = WIRE_REPORTS_MAX;
	assert_int_equal(send_batch(&err, &p), 0);
	p.batch.n_reports = WIRE_REPORTS_MAX + 1;
	assert_int_equal(send_batch(&err, &p), -EBADMSG);
	assert_string_equal(err.text, "a batch has 1025 reports");
	make_parts(&p);
	p.batch.sent_monotonic_us = WIRE_TIME_MAX_US + 1;
	assert_int_equal(send_batch(&err, &p), -EBADMSG);
	assert_string_equal(err.text, "sent_monotonic_us is out of range");
}

/* One bad report spoils the batch; those before it are released. */
static void refuses_a_batch_with_one_bad_report(void **state)
{
	Plimsoll__Report bad = PLIMSOLL__REPORT__INIT;
	struct error err = { 0 };
	struct parts p;

	(void)state;
	make_parts(&p);
	p.batch.n_reports = 3;
	p.reports[2] = &bad;
	assert_int_equal(send_batch(&err, &p), -EBADMSG);
	assert_string_equal(err.text, "a report has no valid seq");
}

static void skips_unknown_fields_in_every_message(void **state)
{
	ProtobufCMessageUnknownField field = { 1000,
		PROTOBUF_C_WIRE_TYPE_VARINT, 1, (uint8_t[]){ 7 } };
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	struct ack ack = { .stored = true };
	struct wire_reply got;
	struct parts p;

	(void)state;
	make_parts(&p);
	ProtobufCMessage *const messages[] = { &p.hello.base, &p.batch.base,
		&p.report.base };

	for (size_t i = 0; i < count_of(messages); i++) {
		messages[i]->n_unknown_fields = 1;
		messages[i]->unknown_fields = &field;
	}
	assert_int_equal(send_hello(NULL, &p), 0);
	assert_int_equal(send_batch(NULL, &p), 0);
	/* Field 1000, a varint: 7. */
	wire_pack_ack(&bytes, &ack);
	buffer_append(&bytes, "\xc0\x3e\x07", 3);
	assert_int_equal(unpack_reply(&got, &bytes, NULL), 0);
	assert_true(got.ack.stored);
	wire_reply_fini(&got);
}

/* ---- broken bytes ---- */

static void refuses_messages_of_unknown_kind(void **state)
{
	struct wire_request request = { .kind = WIRE_SNAPSHOT_REQUEST };
	struct wire_reply reply = { .kind = WIRE_REFUSED };
	struct error err = { 0 };

	(void)state;
	for (size_t len = 0; len <= 3; len += 3) {
		/* Field 1000, an empty message. */
		const uint8_t *bytes = (const uint8_t *)"\xc2\x3e\x00";

		assert_int_equal(
			wire_unpack_request(&request, bytes, len, &err),
			-EBADMSG);
		assert_string_equal(err.text, "unknown kind of request");
		assert_int_equal(wire_unpack_reply(&reply, bytes, len, &err),
			-EBADMSG);
		assert_string_equal(err.text, "unknown kind of reply");
	}
	assert_int_equal(request.kind, WIRE_SNAPSHOT_REQUEST);
	assert_int_equal(reply.kind, WIRE_REFUSED);
}

/* In memory of exactly this size, so that a sanitizer sees more. */
static bool unpacks(const uint8_t *bytes, size_t len)
{
	scoped_free uint8_t *copy = xmemdup(bytes, len);
	struct wire_request request;
	struct wire_reply reply;
	bool is_request = wire_unpack_request(&request, copy, len, NULL) == 0;
	bool is_reply = wire_unpack_reply(&reply, copy, len, NULL) == 0;

	if (is_request) {
		wire_request_fini(&request);
	}
	if (is_reply) {
		wire_reply_fini(&reply);
	}
	return is_request || is_reply;
}

static void check_broken(struct buffer *bytes)
{
	assert_true(unpacks(bytes_of(bytes), bytes->len));
	for (size_t len = 0; len < bytes->len; len++) {
		assert_false(unpacks(bytes_of(bytes), len));
	}
	for (size_t i = 0; i < bytes->len * 8; i++) {
		bytes->data[i / 8] = (char)(bytes->data[i / 8] ^ 1 << i % 8);
		(void)unpacks(bytes_of(bytes), bytes->len);
		bytes->data[i / 8] = (char)(bytes->data[i / 8] ^ 1 << i % 8);
	}
}

static void pack_report(struct buffer *out)
{
	struct vm_pod vm;
	struct report report;

	vm_pod_init(&vm);
	memcpy(vm.pod_uid, "uid-1", 6);
	vm.cpu_usage_us = 70;
	report_init(&report);
	report.seq = 1;
	report.monotonic_us = 1000;
	report.interval_ms = 2000;
	report.vms = &vm;
	report.vm_count = 1;
	wire_pack_report(out, &report);
}

static void refuses_a_message_cut_at_any_length(void **state)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	scoped_buffer struct buffer report = BUFFER_MAX(BYTES_MAX);
	struct hello hello = { .node = "worker-1", .version = "v1" };
	struct packed_report reports[2];
	struct batch_out out = { "worker-1", run_id, 1, reports, 2, 3 };
	struct ack ack = { true, true, 5000, true };
	struct node_load load;

	(void)state;
	pack_report(&report);
	for (size_t i = 0; i < count_of(reports); i++) {
		reports[i] =
			(struct packed_report){ bytes_of(&report), report.len };
	}
	wire_pack_hello(&bytes, &hello);
	check_broken(&bytes);
	buffer_clear(&bytes);
	wire_pack_batch(&bytes, &out);
	check_broken(&bytes);
	buffer_clear(&bytes);
	wire_pack_ack(&bytes, &ack);
	check_broken(&bytes);
	buffer_clear(&bytes);
	node_load_init(&load);
	load.name = xstrdup("worker-1");
	load.cpu_cores = 8;
	wire_pack_snapshot(&bytes, &(struct snapshot){ 1, 2, true, &load, 1 });
	check_broken(&bytes);
	node_load_fini(&load);
}

/* Three bytes make an empty pod on the wire, hundreds in memory. */
static void a_small_message_cannot_allocate_without_limit(void **state)
{
	enum { EMPTY_PODS = 600000 };
	scoped_buffer struct buffer report = BUFFER_MAX(BYTES_MAX);
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	struct packed_report packed;
	struct wire_request got;
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < EMPTY_PODS; i++) {
		buffer_append(&report, "\x82\x01\x00", 3);
	}
	packed = (struct packed_report){ bytes_of(&report), report.len };
	wire_pack_batch(&bytes,
		&(const struct batch_out){ "worker-1", run_id, 1, &packed, 1,
			0 });
	assert_int_equal(unpack_request(&got, &bytes, &err), -EBADMSG);
	assert_string_equal(err.text, "cannot unpack the report");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unpacks_the_hello_that_was_packed),
		cmocka_unit_test(unpacks_the_snapshot_request_that_was_packed),
		cmocka_unit_test(unpacks_the_ack_that_was_packed),
		cmocka_unit_test(makes_shown_texts_printable_and_cuts_them),
		cmocka_unit_test(refuses_a_hello_without_an_identity),
		cmocka_unit_test(refuses_a_run_id_of_the_wrong_length),
		cmocka_unit_test(refuses_an_impossible_batch),
		cmocka_unit_test(refuses_a_batch_with_one_bad_report),
		cmocka_unit_test(skips_unknown_fields_in_every_message),
		cmocka_unit_test(refuses_messages_of_unknown_kind),
		cmocka_unit_test(refuses_a_message_cut_at_any_length),
		cmocka_unit_test(a_small_message_cannot_allocate_without_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
