#include "kube/quantity.h"

#include <errno.h>

#include "tests/unit/scheduler/given.h"

static const struct {
	const char *text;
	int64_t units, milli;
} spellings[] = {
	{ "0", 0, 0 },
	{ "200m", 1, 200 },
	{ "4", 4, 4000 },
	{ "+4", 4, 4000 },
	{ "004", 4, 4000 },
	{ "0.5", 1, 500 },
	{ ".5", 1, 500 },
	{ "1.", 1, 1000 },
	{ "1.5Gi", 1610612736, 1610612736000 },
	{ "0.5Ki", 512, 512000 },
	{ "4392Mi", INT64_C(4605345792), INT64_C(4605345792000) },
	{ "35M", 35000000, 35000000000 },
	{ "1k", 1000, 1000000 },
	{ "4718592001", 4718592001, 4718592001000 },
	{ "1e3", 1000, 1000000 },
	{ "1E3", 1000, 1000000 },
	{ "1e+3", 1000, 1000000 },
	{ "15e-1", 2, 1500 },
	{ "1E", INT64_C(1000000000000000000), INT64_MAX },
	{ "1u", 1, 1 },
	{ "1n", 1, 1 },
	{ "1001u", 1, 2 },
	{ "1000u", 1, 1 },
	{ "1e-30", 1, 1 },
	{ "1234567890123456789012345e-20", 12346, 12345679 },
	{ "0e99", 0, 0 },
	{ "1Ki", 1 << 10, 1024000 },
	{ "1Mi", 1 << 20, 1048576000 },
	{ "1Gi", 1 << 30, INT64_C(1073741824000) },
	{ "1Ti", INT64_C(1) << 40, (INT64_C(1) << 40) * 1000 },
	{ "1Pi", INT64_C(1) << 50, (INT64_C(1) << 50) * 1000 },
	{ "1Ei", INT64_C(1) << 60, INT64_MAX },
	{ "1G", 1000000000, INT64_C(1000000000000) },
	{ "1T", INT64_C(1000000000000), INT64_C(1000000000000000) },
	{ "1P", INT64_C(1000000000000000), INT64_C(1000000000000000000) },
};

static void reads_every_spelling(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(spellings); i++) {
		struct quantity q;

		assert_int_equal(quantity_parse(&q, spellings[i].text, NULL),
			0);
		given_check(quantity_units(q) == spellings[i].units &&
				quantity_milli(q) == spellings[i].milli,
			spellings[i].text);
	}
}

static void saturates_above_64_bits(void **state)
{
	static const char *const cases[] = {
		"9223372036854775808",
		"8Ei",
		"100E",
		"1e40",
		"1e999999999999",
		"99999999999999999999999999999999999999999999",
		"99999999999999999999999999Ei",
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct quantity q;

		assert_int_equal(quantity_parse(&q, cases[i], NULL), 0);
		assert_true(quantity_units(q) == INT64_MAX);
		assert_true(quantity_milli(q) == INT64_MAX);
	}
}

static const char *const invalid_texts[] = { "", "-1", "m", "Gi", "1 Gi", "1K",
	"1e", "1e+", "1.5.5", "0x10", "1mi", "1Gii", "inf", "1e3k", " 1" };

static void rejects_invalid_quantities(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(invalid_texts); i++) {
		struct error err;
		struct quantity q;

		given_check(
			quantity_parse(&q, invalid_texts[i], &err) == -EBADMSG,
			invalid_texts[i]);
	}
}

static void sums_exactly_and_rounds_once(void **state)
{
	struct quantity half;
	struct quantity most = { .units = INT64_MAX };
	struct quantity sum;

	(void)state;
	assert_int_equal(quantity_parse(&half, "0.5", NULL), 0);
	sum = quantity_add(half, half);
	assert_int_equal(quantity_units(sum), 1);
	assert_int_equal(sum.nanos, 0);
	assert_true(quantity_units(quantity_add(most, sum)) == INT64_MAX);
	assert_int_equal(quantity_units(quantity_larger(half, sum)), 1);
	assert_int_equal(quantity_larger(half, (struct quantity){ 0 }).nanos,
		500000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_spelling),
		cmocka_unit_test(saturates_above_64_bits),
		cmocka_unit_test(rejects_invalid_quantities),
		cmocka_unit_test(sums_exactly_and_rounds_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
