#include "kubectl/figures.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <math.h>

static void ages_are_kubectls(void **state)
{
	static const struct {
		double seconds;
		const char *text;
	} cases[] = {
		{ -3, "0s" },
		{ 1.9, "1s" },
		{ 119, "119s" },
		{ 120, "2m" },
		{ 155, "2m35s" },
		{ 600, "10m" },
		{ 10799, "179m" },
		{ 10800, "3h" },
		{ 11400, "3h10m" },
		{ 28860, "8h" },
		{ 172800, "2d" },
		{ NAN, "<unknown>" },
		{ 1e300, "<unknown>" },
	};
	char text[FIGURE_MAX];

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_string_equal(figure_age(text, cases[i].seconds),
			cases[i].text);
	}
}

static void figures_have_units_and_unknown_ones_a_dash(void **state)
{
	char text[FIGURE_MAX];

	(void)state;
	assert_string_equal(figure_bytes(text, 512), "512");
	assert_string_equal(figure_bytes(text, 13207024435), "12.3Gi");
	assert_string_equal(figure_bytes(text, 1e14), "90.9Ti");
	assert_string_equal(figure_share(text, 0.834), "83%");
	assert_string_equal(figure_cores(text, 1.5), "1.50");
	assert_string_equal(figure_whole(text, 12), "12");
	assert_string_equal(figure_bytes(text, NAN), "-");
	assert_string_equal(figure_share(text, INFINITY), "-");
	assert_string_equal(figure_cores(text, 1e300), "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ages_are_kubectls),
		cmocka_unit_test(figures_have_units_and_unknown_ones_a_dash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
