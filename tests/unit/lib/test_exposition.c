#include "lib/exposition.h"

#include "tests/support/cm.h"

#include <math.h>
#include <string.h>

static void a_series_has_a_header_and_labels(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	(void)state;

	exposition_head(&out, "x_total", "What", EXPOSITION_COUNTER);
	exposition_series(&out, "x_total", "who", "me", 1.5);
	assert_string_equal(out.data,
		"# HELP x_total What.\n# TYPE x_total counter\n"
		"x_total{who=\"me\"} 1.5\n");
}

static void labels_are_escaped_and_separated(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	(void)state;

	buffer_text(&out, "x{");
	exposition_label(&out, "a", "1\n\"2\"\\\xff");
	exposition_label(&out, "b", "");
	assert_string_equal(out.data,
		"x{a=\"1\\n\\\"2\\\"\\\\\xef\xbf\xbd\",b=\"\"");
}

static void an_unknown_value_writes_nothing(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	(void)state;

	exposition_single(&out, "x", "What", EXPOSITION_GAUGE, NAN);
	assert_int_equal(out.len, 0);
	exposition_single(&out, "x", "What", EXPOSITION_GAUGE, 1e15);
	assert_non_null(strstr(out.data, "gauge\nx 1e+15\n"));
}

static void reports_cpu_and_memory_of_the_process(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	(void)state;

	exposition_process(&out);
	assert_non_null(strstr(out.data, "plimsoll_build_info{version=\""));
	assert_non_null(strstr(out.data, "\nprocess_cpu_seconds_total "));
	assert_non_null(strstr(out.data, "\nprocess_resident_memory_bytes "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_series_has_a_header_and_labels),
		cmocka_unit_test(labels_are_escaped_and_separated),
		cmocka_unit_test(an_unknown_value_writes_nothing),
		cmocka_unit_test(reports_cpu_and_memory_of_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
