#include "lib/arena.h"

#include "tests/support/cm.h"

#include <stdint.h>
#include <string.h>

enum { PIECES = 200 };

static void pieces_keep_their_bytes_when_more_are_taken_than_expected(
	void **state)
{
	struct arena *arena = arena_new(32);
	char *pieces[PIECES];

	(void)state;
	for (size_t i = 0; i < PIECES; i++) {
		pieces[i] = arena_take(arena, i + 1);
		assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t),
			0);
		memset(pieces[i], (int)i, i + 1);
	}
	for (size_t i = 0; i < PIECES; i++) {
		for (size_t at = 0; at <= i; at++) {
			assert_int_equal((unsigned char)pieces[i][at], i);
		}
	}
	assert_ptr_equal(arena_of_first(pieces[0]), arena);
	arena_free(arena);
}

static void overwriting_reaches_each_piece(void **state)
{
	struct arena *arena = arena_new(32);
	char *pieces[PIECES];

	(void)state;
	for (size_t i = 0; i < PIECES; i++) {
		pieces[i] = arena_take(arena, 24);
		memset(pieces[i], 'x', 24);
	}
	arena_overwrite(arena);
	for (size_t i = 0; i < PIECES; i++) {
		for (size_t at = 0; at < 24; at++) {
			assert_int_equal(pieces[i][at], 0);
		}
	}
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			pieces_keep_their_bytes_when_more_are_taken_than_expected),
		cmocka_unit_test(overwriting_reaches_each_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
