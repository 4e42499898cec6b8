#include "lib/exposition.h"

#include "tests/support/cm.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

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

	exposition_process(&out, 1500000);
	assert_non_null(strstr(out.data, "plimsoll_build_info{version=\""));
	assert_non_null(strstr(out.data, "\nprocess_cpu_seconds_total "));
	assert_non_null(strstr(out.data, "\nprocess_resident_memory_bytes "));
	assert_non_null(strstr(out.data, "\nprocess_start_time_seconds 1.5\n"));
}

static double value_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	assert_non_null(at);
	return strtod(at + strlen(name), NULL);
}

static void counts_the_open_file_descriptors(void **state)
{
	static const char open_fds[] = "\nprocess_open_fds ";
	static const char max_fds[] = "\nprocess_max_fds ";
	scoped_buffer struct buffer before = BUFFER_MAX(4096);
	scoped_buffer struct buffer after = BUFFER_MAX(4096);
	struct rlimit limit = { 0 };
	int fd;
	(void)state;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	exposition_process(&before, 0);
	fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	exposition_process(&after, 0);
	(void)close(fd);
	assert_float_equal(value_of(after.data, open_fds),
		value_of(before.data, open_fds) + 1, 0);
	assert_true(value_of(before.data, open_fds) >= 3);
	assert_float_equal(value_of(after.data, max_fds),
		(double)limit.rlim_cur, 0);
}

static void responses_have_all_classes_from_the_start(void **state)
{
	static const struct exposition_responses listeners[] = {
		{ "http", { [2] = 7, [4] = 1 } },
		{ NULL, { 0 } },
	};
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	(void)state;

	exposition_responses(&out, "x_total", listeners, 2);
	assert_non_null(strstr(out.data,
		"x_total counter\n"
		"x_total{listener=\"http\",code=\"2xx\"} 7\n"
		"x_total{listener=\"http\",code=\"3xx\"} 0\n"
		"x_total{listener=\"http\",code=\"4xx\"} 1\n"
		"x_total{listener=\"http\",code=\"5xx\"} 0\n"));
	assert_string_equal(strstr(out.data, "5xx"), "5xx\"} 0\n");
}

static void only_certificates_that_are_there_expire(void **state)
{
	static const struct exposition_certificate some[] = { { "a", 0 },
		{ "b", 1795171612 }, { "c", 0 }, { "d", 7 } };
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	scoped_buffer struct buffer none = BUFFER_MAX(4096);
	(void)state;

	exposition_certificates(&out, "x", some, 4);
	assert_string_equal(out.data,
		"# HELP x Unix time at which the certificate expires.\n"
		"# TYPE x gauge\n"
		"x{use=\"b\"} 1795171612\n"
		"x{use=\"d\"} 7\n");
	exposition_certificates(&none, "x", some, 1);
	assert_int_equal(none.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_series_has_a_header_and_labels),
		cmocka_unit_test(labels_are_escaped_and_separated),
		cmocka_unit_test(an_unknown_value_writes_nothing),
		cmocka_unit_test(reports_cpu_and_memory_of_the_process),
		cmocka_unit_test(counts_the_open_file_descriptors),
		cmocka_unit_test(responses_have_all_classes_from_the_start),
		cmocka_unit_test(only_certificates_that_are_there_expire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
