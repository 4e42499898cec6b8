#include "aggregator/http/sources_text.h"

#include "lib/http/httpd_response.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdio.h>
#include <string.h>

static char value[4096];

void __wrap_httpd_header_set(struct httpd_request *request, const char *name,
	const char *text);

void __wrap_httpd_header_set(struct httpd_request *request, const char *name,
	const char *text)
{
	(void)request;
	assert_string_equal(name, "Plimsoll-Sources");
	(void)snprintf(value, sizeof(value), "%s", text);
}

static struct sources both(void)
{
	return (struct sources){ .is_known = true,
		.from_us = 10000000,
		.joined_us = 20000000,
		.to_us = 30000000 };
}

static void assert_header(const struct sources *sources, const char *expected)
{
	value[0] = '\0';
	sources_set_header(NULL, sources);
	assert_string_equal(value, expected);
}

static void the_header_names_both_parts_in_the_order_of_time(void **state)
{
	struct sources sources = both();

	(void)state;
	assert_header(&sources, "remote;from=10;to=20, local;from=20;to=30");
	sources.joined_us = sources.from_us;
	assert_header(&sources, "local;from=10;to=30");
	sources.joined_us = sources.to_us;
	assert_header(&sources, "remote;from=10;to=30");
}

static void nothing_is_said_of_sources_that_are_not_known(void **state)
{
	struct sources sources = both();

	(void)state;
	sources.is_known = false;
	assert_header(&sources, "");
	sources = (struct sources){ .is_known = true };
	assert_header(&sources, "");
}

static void an_error_is_a_quoted_string_without_escapes(void **state)
{
	struct sources sources = both();

	(void)state;
	sources.error.code = -5;
	(void)snprintf(sources.error.text, sizeof(sources.error.text),
		"a \"b\" \\ c\n~ \x7f");
	assert_header(&sources,
		"remote;from=10;to=20;error=\"a 'b'   c ~  \", "
		"local;from=20;to=30");
}

static void json_lists_the_parts(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	struct sources sources = both();
	struct json j = json_into(&out);

	(void)state;
	sources.error.code = -5;
	(void)snprintf(sources.error.text, sizeof(sources.error.text), "late");
	json_object(&j, NULL);
	sources_write(&j, &sources);
	json_object_end(&j);
	assert_string_equal(out.data,
		"{\"sources\":[{\"source\":\"remote\",\"from\":10,\"to\":20,"
		"\"error\":\"late\"},{\"source\":\"local\",\"from\":20,"
		"\"to\":30}]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_header_names_both_parts_in_the_order_of_time),
		cmocka_unit_test(nothing_is_said_of_sources_that_are_not_known),
		cmocka_unit_test(an_error_is_a_quoted_string_without_escapes),
		cmocka_unit_test(json_lists_the_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
