/* Batches of reports, which senders frame by hand around packed reports. */
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

static void pack_generated(struct buffer *out, const ProtobufCMessage *message)
{
	size_t size = protobuf_c_message_get_packed_size(message);
	scoped_free uint8_t *bytes = xcalloc(size, 1);

	assert_int_equal(protobuf_c_message_pack(message, bytes), size);
	buffer_append(out, bytes, size);
	assert_false(out->overflowed);
}

static void pack_report(struct buffer *out, uint64_t seq, size_t vms)
{
	struct report report;

	report_init(&report);
	report.seq = seq;
	report.monotonic_us = 1000 * seq;
	report.interval_ms = 2000;
	report.vm_count = vms;
	report.vms = xcalloc(vms, sizeof(*report.vms));
	for (size_t i = 0; i < vms; i++) {
		vm_pod_init(&report.vms[i]);
		memcpy(report.vms[i].pod_uid, "uid-1", 6);
		report.vms[i].cpu_usage_us = 70 + i;
	}
	wire_pack_report(out, &report);
	report_fini(&report);
}

enum { BATCH_REPORTS = 5 };

/* Reports of 0, 1, 4, 9 and 16 VMs. */
struct packed {
	struct buffer bytes[BATCH_REPORTS];
	struct packed_report reports[BATCH_REPORTS];
};

static int setup_packed(void **state)
{
	struct packed *p = xcalloc(1, sizeof(*p));

	for (size_t i = 0; i < BATCH_REPORTS; i++) {
		p->bytes[i] = BUFFER_MAX(BYTES_MAX);
		pack_report(&p->bytes[i], i + 1, i * i);
		p->reports[i] = (struct packed_report){ bytes_of(&p->bytes[i]),
			p->bytes[i].len };
	}
	*state = p;
	return 0;
}

static int teardown_packed(void **state)
{
	struct packed *p = *state;

	for (size_t i = 0; i < BATCH_REPORTS; i++) {
		buffer_fini(&p->bytes[i]);
	}
	free(p);
	return 0;
}

static void unpacks_the_batch_that_was_packed(void **state)
{
	const struct packed *p = *state;
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	struct batch_out out = { "worker-1", run_id, 123456789012, p->reports,
		BATCH_REPORTS, 1795000000 };
	struct wire_request got;

	wire_pack_batch(&bytes, &out);
	assert_int_equal(unpack_request(&got, &bytes, NULL), 0);
	assert_int_equal(got.kind, WIRE_BATCH);
	assert_string_equal(got.batch.node, "worker-1");
	assert_memory_equal(got.batch.run_id, run_id, sizeof(run_id));
	assert_int_equal(got.batch.sent_monotonic_us, 123456789012);
	assert_int_equal(got.batch.certificate_expiry_s, 1795000000);
	assert_int_equal(got.batch.count, BATCH_REPORTS);
	for (size_t i = 0; i < BATCH_REPORTS; i++) {
		const struct report *report = &got.batch.reports[i];
		scoped_buffer struct buffer again = BUFFER_MAX(BYTES_MAX);

		assert_int_equal(report->seq, i + 1);
		assert_int_equal(report->vm_count, i * i);
		assert_int_equal(got.batch.packed[i].len, p->reports[i].len);
		assert_memory_equal(got.batch.packed[i].bytes,
			p->reports[i].bytes, p->reports[i].len);
		wire_pack_report(&again, report);
		assert_int_equal(again.len, p->reports[i].len);
		assert_memory_equal(again.data, p->reports[i].bytes, again.len);
	}
	wire_request_fini(&got);
}

/* A batch is framed by hand, and must agree with the .proto file. */
static void packs_a_batch_as_generated_code_does(void **state)
{
	static const uint64_t times[] = { 0, 127, 128, 123456789012,
		INT64_MAX - 1 };
	const struct packed *p = *state;
	Plimsoll__Request request = PLIMSOLL__REQUEST__INIT;
	Plimsoll__Batch batch = PLIMSOLL__BATCH__INIT;
	ProtobufCBinaryData reports[BATCH_REPORTS];
	uint8_t id[REPORT_RUN_ID_BYTES];

	memcpy(id, run_id, sizeof(id));
	for (size_t i = 0; i < BATCH_REPORTS; i++) {
		reports[i].len = p->reports[i].len;
		reports[i].data = xmemdup(p->reports[i].bytes, reports[i].len);
	}
	batch.node = (char[]){ "worker-1" };
	batch.has_run_id = true;
	batch.run_id = (ProtobufCBinaryData){ sizeof(id), id };
	batch.has_sent_monotonic_us = true;
	batch.reports = reports;
	request.kind_case = PLIMSOLL__REQUEST__KIND_BATCH;
	request.batch = &batch;
	for (size_t i = 0; i < count_of(times); i++) {
		scoped_buffer struct buffer ours = BUFFER_MAX(BYTES_MAX);
		scoped_buffer struct buffer theirs = BUFFER_MAX(BYTES_MAX);
		struct batch_out out = { "worker-1", run_id, times[i],
			p->reports, i + 1, times[i] };

		batch.sent_monotonic_us = times[i];
		/* Absent without a certificate, as from older agents. */
		batch.has_certificate_expiry_s = times[i] != 0;
		batch.certificate_expiry_s = times[i];
		batch.n_reports = i + 1;
		wire_pack_batch(&ours, &out);
		pack_generated(&theirs, &request.base);
		assert_int_equal(ours.len, theirs.len);
		assert_memory_equal(ours.data, theirs.data, ours.len);
	}
	for (size_t i = 0; i < BATCH_REPORTS; i++) {
		free(reports[i].data);
	}
}

/* The length behind the first tag, which is one byte. */
static size_t inner_len(const struct buffer *bytes)
{
	size_t len = 0;

	for (size_t i = 1, shift = 0;; i++, shift += 7) {
		len |= (size_t)(bytes->data[i] & 0x7f) << shift;
		if ((bytes->data[i] & 0x80) == 0) {
			return len;
		}
	}
}

static void knows_the_exact_size_a_report_adds(void **state)
{
	static const size_t sizes[] = { 0, 1, 127, 128, 129, 16383, 16384,
		2097151, 2097152 };
	scoped_free uint8_t *zeros = xcalloc(2097152, 1);

	(void)state;
	for (size_t i = 0; i < count_of(sizes); i++) {
		scoped_buffer struct buffer with = BUFFER_MAX(BYTES_MAX);
		scoped_buffer struct buffer without = BUFFER_MAX(BYTES_MAX);
		struct packed_report reports[] = { { zeros, 3 },
			{ zeros, sizes[i] } };
		struct batch_out out = { "n", run_id, 1, reports, 1, 0 };

		wire_pack_batch(&without, &out);
		out.count = 2;
		wire_pack_batch(&with, &out);
		assert_int_equal(inner_len(&with) - inner_len(&without),
			wire_batched_size(sizes[i]));
	}
}

static void marks_a_batch_that_does_not_fit(void **state)
{
	const struct packed *p = *state;
	scoped_buffer struct buffer bytes = BUFFER_MAX(200);
	struct batch_out out = { "worker-1", run_id, 1, p->reports,
		BATCH_REPORTS, 0 };

	wire_pack_batch(&bytes, &out);
	assert_true(bytes.overflowed);
}

#define BATCH_TEST(name)                                                       \
	cmocka_unit_test_setup_teardown(name, setup_packed, teardown_packed)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BATCH_TEST(unpacks_the_batch_that_was_packed),
		BATCH_TEST(packs_a_batch_as_generated_code_does),
		cmocka_unit_test(knows_the_exact_size_a_report_adds),
		BATCH_TEST(marks_a_batch_that_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
