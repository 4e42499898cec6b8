#include "lib/edit_distance.h"

#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/random.h"

#include <string.h>

enum { LETTERS_MAX = 6 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Levenshtein's own definition. */
static size_t defined(const char *a, const char *b)
{
	if (*a == '\0' || *b == '\0') {
		return strlen(a) + strlen(b);
	}
	if (*a == *b) {
		return defined(a + 1, b + 1);
	}
	return 1 +
		least(defined(a + 1, b + 1),
			least(defined(a + 1, b), defined(a, b + 1)));
}

static void random_word(char out[LETTERS_MAX + 1], uint64_t *seed)
{
	size_t len = random_pick(seed, LETTERS_MAX + 1);

	for (size_t i = 0; i < len; i++) {
		out[i] = (char)('a' + random_pick(seed, 3));
	}
	out[len] = '\0';
}

static void it_is_that_of_the_definition(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (int round = 0; round < 500; round++) {
		char a[LETTERS_MAX + 1], b[LETTERS_MAX + 1];

		random_word(a, &seed);
		random_word(b, &seed);
		assert_int_equal(edit_distance(a, strlen(a), b), defined(a, b));
	}
}

/* A flag ends at its =. */
static void only_a_length_of_the_first_word_counts(void **state)
{
	(void)state;
	assert_int_equal(edit_distance("node=x", 4, "nodes"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_that_of_the_definition),
		cmocka_unit_test(only_a_length_of_the_first_word_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
