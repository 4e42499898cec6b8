#include "lib/hash.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <string.h>

/* From the FNV authors' test_fnv.c (fnv1a_64_vector). */
static const struct {
	const char *text;
	size_t len;
	uint64_t hash;
} vectors[] = {
	{ "", 0, UINT64_C(0xcbf29ce484222325) },
	{ "a", 1, UINT64_C(0xaf63dc4c8601ec8c) },
	{ "b", 1, UINT64_C(0xaf63df4c8601f1a5) },
	{ "foobar", 6, UINT64_C(0x85944171f73967e8) },
	{ "", 1, UINT64_C(0xaf63bd4c8601b7df) },
	{ "a", 2, UINT64_C(0x089be207b544f1e4) },
	{ "chongo was here!\n", 17, UINT64_C(0x46810940eff5f915) },
};

static void agrees_with_the_published_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(vectors); i++) {
		uint64_t of_text = hash_text(HASH_SEED, vectors[i].text);

		assert_int_equal(
			hash_bytes(HASH_SEED, vectors[i].text, vectors[i].len),
			vectors[i].hash);
		if (vectors[i].len == strlen(vectors[i].text)) {
			assert_int_equal(of_text, vectors[i].hash);
		}
	}
	assert_int_equal(hash_text(HASH_SEED, NULL), HASH_SEED);
}

static void continues_from_an_earlier_hash(void **state)
{
	uint64_t whole = hash_text(HASH_SEED, "foobar");

	(void)state;
	assert_int_equal(hash_text(hash_text(HASH_SEED, "foo"), "bar"), whole);
	assert_int_equal(hash_bytes(hash_text(HASH_SEED, "foo"), "bar", 3),
		whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_the_published_vectors),
		cmocka_unit_test(continues_from_an_earlier_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
