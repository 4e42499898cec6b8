/* The format of a spool's file: intact, torn and damaged. */
#include "agent/segment.h"

#include <string.h>

#include "lib/memory.h"
#include "tests/support/cm.h"

static const uint8_t run_id[REPORT_RUN_ID_BYTES] = { 1, 2, 3, 0xff };
static const uint8_t body[] = "a report";

static const uint8_t *bytes_of(const struct buffer *b)
{
	return (const uint8_t *)b->data;
}

static void a_header_contains_the_run_id(void **state)
{
	scoped_buffer struct buffer b = BUFFER_MAX(100);
	uint8_t got[REPORT_RUN_ID_BYTES];

	(void)state;
	segment_put_header(&b, run_id);
	assert_int_equal(b.len, SEGMENT_HEADER_BYTES);
	assert_true(segment_get_header(got, bytes_of(&b), b.len));
	assert_memory_equal(got, run_id, sizeof(run_id));
}

static void rejects_a_changed_header(void **state)
{
	scoped_buffer struct buffer b = BUFFER_MAX(100);
	uint8_t got[REPORT_RUN_ID_BYTES];

	(void)state;
	segment_put_header(&b, run_id);
	for (size_t i = 0; i < 28; i++) {
		b.data[i] ^= 0x10;
		assert_false(segment_get_header(got, bytes_of(&b), b.len));
		b.data[i] ^= 0x10;
	}
	assert_false(segment_get_header(got, bytes_of(&b), b.len - 1));
}

static void reads_records_in_the_order_they_were_written(void **state)
{
	scoped_buffer struct buffer b = BUFFER_MAX(1000);
	struct segment_record record;
	size_t at = 0;

	(void)state;
	for (uint64_t seq = 7; seq < 10; seq++) {
		segment_put_record(&b, seq, body, (size_t)seq - 5);
	}
	for (uint64_t seq = 7; seq < 10; seq++) {
		assert_true(segment_get_record(&record, bytes_of(&b) + at,
			b.len - at));
		assert_int_equal(record.seq, seq);
		assert_int_equal(record.len, seq - 5);
		assert_memory_equal(record.body, body, record.len);
		at += SEGMENT_RECORD_BYTES + record.len;
	}
	assert_int_equal(at, b.len);
	assert_false(segment_get_record(&record, bytes_of(&b) + at, 0));
}

static void rejects_a_torn_or_changed_record(void **state)
{
	scoped_buffer struct buffer b = BUFFER_MAX(1000);
	struct segment_record record;

	(void)state;
	segment_put_record(&b, 7, body, sizeof(body));
	for (size_t len = 0; len < b.len; len++) {
		assert_false(segment_get_record(&record, bytes_of(&b), len));
	}
	for (size_t i = 0; i < b.len; i++) {
		b.data[i] ^= 0x04;
		assert_false(segment_get_record(&record, bytes_of(&b), b.len));
		b.data[i] ^= 0x04;
	}
	assert_true(segment_get_record(&record, bytes_of(&b), b.len));
}

/* The catalogue of parametrised CRC algorithms gives the CRC-32/ISO-HDLC of
 * "123456789" as check value: here seq is its first eight bytes. */
static void uses_the_standard_crc(void **state)
{
	scoped_buffer struct buffer b = BUFFER_MAX(1000);
	static const uint8_t nine[] = { '9' };
	static const uint8_t expected[] = { 0x26, 0x39, 0xf4, 0xcb };

	(void)state;
	segment_put_record(&b, UINT64_C(0x3837363534333231), nine, 1);
	assert_memory_equal(b.data + 4, expected, sizeof(expected));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_contains_the_run_id),
		cmocka_unit_test(rejects_a_changed_header),
		cmocka_unit_test(reads_records_in_the_order_they_were_written),
		cmocka_unit_test(rejects_a_torn_or_changed_record),
		cmocka_unit_test(uses_the_standard_crc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
