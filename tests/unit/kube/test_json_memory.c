#include "kube/json_memory.h"

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "tests/support/cm.h"

#include <stdint.h>
#include <string.h>

enum { PIECES = 200 };

static void pieces_keep_their_bytes_when_more_are_taken_than_expected(
	void **state)
{
	struct json_memory *memory = json_memory_new(32);
	char *pieces[PIECES];

	(void)state;
	for (size_t i = 0; i < PIECES; i++) {
		pieces[i] = json_memory_take(memory, i + 1);
		assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t),
			0);
		memset(pieces[i], (int)i, i + 1);
	}
	for (size_t i = 0; i < PIECES; i++) {
		for (size_t at = 0; at <= i; at++) {
			assert_int_equal((unsigned char)pieces[i][at], i);
		}
	}
	assert_ptr_equal(json_memory_of_first(pieces[0]), memory);
	json_memory_free(memory);
}

static void overwriting_reaches_each_piece(void **state)
{
	struct json_memory *memory = json_memory_new(32);
	char *pieces[PIECES];

	(void)state;
	for (size_t i = 0; i < PIECES; i++) {
		pieces[i] = json_memory_take(memory, 24);
		memset(pieces[i], 'x', 24);
	}
	json_memory_overwrite(memory);
	for (size_t i = 0; i < PIECES; i++) {
		for (size_t at = 0; at < 24; at++) {
			assert_int_equal(pieces[i][at], 0);
		}
	}
	json_memory_free(memory);
}

/* Two bytes of text for each value: far more memory than expected. */
static void a_tree_of_many_small_values_is_whole(void **state)
{
	enum { COUNT = 50000 };
	scoped_buffer struct buffer text = BUFFER_MAX((size_t)4 * COUNT);
	struct json_value *root = NULL;
	const struct json_value *value;
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		buffer_text(&text, i == 0 ? "[1" : ",1");
	}
	buffer_text(&text, "]");
	assert_int_equal(json_value_parse(&root, text.data, text.len, NULL), 0);
	for (value = json_value_first(root); value != NULL;
		value = json_value_next(value)) {
		double number = 0;

		assert_true(json_value_number(&number, value));
		assert_true(number == 1);
		count++;
	}
	assert_int_equal(count, COUNT);
	json_value_free_secret(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			pieces_keep_their_bytes_when_more_are_taken_than_expected),
		cmocka_unit_test(overwriting_reaches_each_piece),
		cmocka_unit_test(a_tree_of_many_small_values_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
