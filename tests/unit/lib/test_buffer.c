#include "lib/buffer.h"

#include "tests/support/cm.h"

#include <stdlib.h>
#include <string.h>

static void appended_bytes_are_followed_by_a_nul(void **state)
{
	scoped_buffer struct buffer b = BUFFER_MAX(1000);

	(void)state;
	buffer_text(&b, "one ");
	buffer_char(&b, 't');
	buffer_append(&b, "wo", 2);
	buffer_printf(&b, " %s %d", "three", 4);
	assert_string_equal(b.data, "one two three 4");
	assert_int_equal(b.len, 15);
	assert_false(b.overflowed);
}

static void may_hold_any_byte(void **state)
{
	scoped_buffer struct buffer b = BUFFER_MAX(1000);

	(void)state;
	buffer_append(&b, "a\0b", 3);
	buffer_append(&b, NULL, 0);
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.data, "a\0b", 4);
}

static void grows_over_many_small_appends(void **state)
{
	scoped_buffer struct buffer b = BUFFER_MAX(100000);

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		buffer_printf(&b, "%04u", i % 10000);
	}
	assert_int_equal(b.len, 80000);
	assert_memory_equal(b.data + 79996, "9999", 5);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(b.data[(size_t)i * 4 + 3], '0' + i % 10);
	}
}

static void the_maximum_is_reached_exactly(void **state)
{
	scoped_buffer struct buffer b = BUFFER_MAX(8);

	(void)state;
	buffer_text(&b, "12345");
	buffer_printf(&b, "%d", 678);
	assert_false(b.overflowed);
	assert_string_equal(b.data, "12345678");
	buffer_text(&b, "");
	assert_false(b.overflowed);
	buffer_char(&b, '9');
	assert_true(b.overflowed);
	assert_string_equal(b.data, "12345678");
}

static void drops_what_does_not_fit_and_stays_overflowed(void **state)
{
	scoped_buffer struct buffer b = BUFFER_MAX(8);

	(void)state;
	buffer_text(&b, "12345");
	buffer_text(&b, "6789");
	assert_true(b.overflowed);
	assert_string_equal(b.data, "12345");
	buffer_char(&b, '6');
	buffer_printf(&b, "%d", 7);
	buffer_append(&b, "8", 1);
	assert_true(b.overflowed);
	assert_string_equal(b.data, "12345");
}

static void a_zeroed_buffer_accepts_nothing(void **state)
{
	scoped_buffer struct buffer b = { 0 };

	(void)state;
	buffer_char(&b, 'x');
	assert_true(b.overflowed);
	assert_int_equal(b.len, 0);
	assert_null(b.data);
}

static void clearing_resets_overflow_and_keeps_memory(void **state)
{
	scoped_buffer struct buffer b = BUFFER_MAX(8);
	const char *memory;

	(void)state;
	buffer_text(&b, "12345");
	buffer_text(&b, "12345");
	memory = b.data;
	buffer_clear(&b);
	assert_false(b.overflowed);
	assert_int_equal(b.len, 0);
	assert_string_equal(b.data, "");
	buffer_text(&b, "abc");
	assert_ptr_equal(b.data, memory);
	assert_string_equal(b.data, "abc");
}

static void consuming_removes_from_the_front(void **state)
{
	scoped_buffer struct buffer b = BUFFER_MAX(8);

	(void)state;
	buffer_consume(&b, 0);
	buffer_text(&b, "12345678");
	buffer_consume(&b, 3);
	assert_string_equal(b.data, "45678");
	assert_int_equal(b.len, 5);
	buffer_text(&b, "abc");
	assert_false(b.overflowed);
	buffer_consume(&b, 0);
	assert_string_equal(b.data, "45678abc");
	buffer_consume(&b, 8);
	assert_string_equal(b.data, "");
	assert_int_equal(b.len, 0);
}

static void taking_leaves_a_usable_empty_buffer(void **state)
{
	scoped_buffer struct buffer b = BUFFER_MAX(100);
	size_t len = 99;
	char *bytes;

	(void)state;
	bytes = buffer_take(&b, &len);
	assert_string_equal(bytes, "");
	assert_int_equal(len, 0);
	free(bytes);

	buffer_text(&b, "gone");
	bytes = buffer_take(&b, &len);
	assert_string_equal(bytes, "gone");
	assert_int_equal(len, 4);
	assert_int_equal(b.len, 0);
	assert_null(b.data);
	buffer_text(&b, "next");
	assert_string_equal(b.data, "next");
	assert_string_equal(bytes, "gone");
	free(bytes);

	bytes = buffer_take(&b, NULL);
	assert_string_equal(bytes, "next");
	free(bytes);
}

static void room_is_written_to_in_place(void **state)
{
	struct buffer b = BUFFER_MAX(100);
	char *room;

	(void)state;
	buffer_text(&b, "a");
	room = buffer_room(&b, 90);
	assert_non_null(room);
	room[0] = 'b';
	room[1] = 'c';
	buffer_extend(&b, 2);
	assert_string_equal(b.data, "abc");
	assert_int_equal(b.len, 3);
	buffer_extend(&b, 0);
	assert_null(buffer_room(&b, 98));
	assert_true(b.overflowed);
	assert_string_equal(b.data, "abc");
	buffer_fini(&b);
}

static void releasing_keeps_the_maximum(void **state)
{
	struct buffer b = BUFFER_MAX(4);

	(void)state;
	buffer_text(&b, "12345");
	buffer_fini(&b);
	assert_null(b.data);
	assert_false(b.overflowed);
	buffer_text(&b, "1234");
	assert_string_equal(b.data, "1234");
	buffer_fini(&b);
	buffer_fini(&b);
	buffer_fini(NULL);
}

static void a_secret_buffer_overwrites_what_it_removes(void **state)
{
	static const char zeros[64];
	scoped_buffer struct buffer b = BUFFER_SECRET(1000);

	(void)state;
	buffer_text(&b, "old key, new key");
	buffer_consume(&b, 9);
	assert_string_equal(b.data, "new key");
	assert_memory_equal(b.data + b.len, zeros, 9);
	buffer_clear(&b);
	assert_memory_equal(b.data, zeros, 16);
	buffer_text(&b, "key");
	for (size_t i = 0; i < 100; i++) {
		buffer_text(&b, "12345");
	}
	assert_int_equal(b.len, 503);
	assert_memory_equal(b.data, "key12345", 8);
	buffer_fini(&b);
	assert_true(b.is_secret);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appended_bytes_are_followed_by_a_nul),
		cmocka_unit_test(may_hold_any_byte),
		cmocka_unit_test(grows_over_many_small_appends),
		cmocka_unit_test(the_maximum_is_reached_exactly),
		cmocka_unit_test(drops_what_does_not_fit_and_stays_overflowed),
		cmocka_unit_test(a_zeroed_buffer_accepts_nothing),
		cmocka_unit_test(clearing_resets_overflow_and_keeps_memory),
		cmocka_unit_test(consuming_removes_from_the_front),
		cmocka_unit_test(taking_leaves_a_usable_empty_buffer),
		cmocka_unit_test(room_is_written_to_in_place),
		cmocka_unit_test(releasing_keeps_the_maximum),
		cmocka_unit_test(a_secret_buffer_overwrites_what_it_removes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
