/* A spool's file as bytes: whole, torn and damaged. */
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

static void a_header_names_its_run(void **state)
{
	scoped_buffer struct buffer b = BUFFER_MAX(100);
	uint8_t got[REPORT_RUN_ID_BYTES];

	(void)state;
	segment_put_header(&b, run_id);
	assert_int_equal(b.len, SEGMENT_HEADER_BYTES);
	assert_true(segment_get_header(got, bytes_of(&b), b.len));
	assert_memory_equal(got, run_id, sizeof(run_id));
}

static void no_changed_header_is_taken(void **state)
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

static void records_come_back_in_their_order(void **state)
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

static void a_torn_or_changed_record_is_none(void **state)
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

/* The check value of CRC-32/ISO-HDLC in the catalogue of parametrised CRC
 * algorithms is that of "123456789": here seq is the first eight of them. */
static void the_crc_is_the_one_everybody_uses(void **state)
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
		cmocka_unit_test(a_header_names_its_run),
		cmocka_unit_test(no_changed_header_is_taken),
		cmocka_unit_test(records_come_back_in_their_order),
		cmocka_unit_test(a_torn_or_changed_record_is_none),
		cmocka_unit_test(the_crc_is_the_one_everybody_uses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
