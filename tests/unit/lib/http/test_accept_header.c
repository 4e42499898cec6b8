#include "lib/http/accept_header.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

/* A table of them names the one that fails. */
static void assert_answer(const char *header, int answer, int expected)
{
	if (answer != expected) {
		fail_msg("'%s' gave %d", header, answer);
	}
}

static void a_quality_is_that_of_the_item_that_fits_best(void **state)
{
	static const struct {
		const char *header, *value;
		int q;
	} cases[] = {
		{ NULL, "gzip", 0 },
		{ "", "gzip", 0 },
		{ "gzip", "gzip", 1000 },
		{ "GZip", "gzip", 1000 },
		{ "deflate, gzip;q=0.5", "gzip", 500 },
		{ "*", "gzip", 1000 },
		{ "*;q=0.5, gzip;q=0", "gzip", 0 },
		{ "gzip;q=0,*", "gzip", 0 },
		{ "gzipped", "gzip", 0 },
		{ "text/html", "text/html", 1000 },
		{ "text/*;q=0.3, */*;q=0.8", "text/html", 300 },
		{ "text/*;q=0.3,text/html;level=1;q=0.7", "text/html", 700 },
		{ "*/*;q=0.8", "text/html", 800 },
		{ "text/h*", "text/html", 0 },
		{ "text/", "text/html", 0 },
		{ "*", "text/html", 0 },
		{ ",;,=;q=,", "text/html", 0 },
		{ "text/html;q=7", "text/html", 1000 },
		{ "text/html;q", "text/html", 1000 },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_answer(cases[i].header,
			accept_header_q(cases[i].header, cases[i].value),
			cases[i].q);
	}
}

static void browsers_prefer_html_and_programs_do_not(void **state)
{
	static const struct {
		const char *header;
		bool prefers_html;
	} cases[] = {
		{ NULL, false },
		{ "*/*", false },
		{ "text/html,application/xhtml+xml,application/xml;q=0.9,"
		  "image/avif,image/webp,*/*;q=0.8",
			true },
		{ "application/json", false },
		{ "application/json, text/html", false },
		{ "text/html;q=0.1, application/json;q=0.2", false },
		{ "text/html;q=0", false },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_answer(cases[i].header,
			accept_header_prefers_html(cases[i].header),
			cases[i].prefers_html);
	}
}

static void gzip_is_taken_unless_the_plain_text_is_preferred(void **state)
{
	static const struct {
		const char *header;
		bool takes_gzip;
	} cases[] = {
		{ NULL, false },
		{ "", false },
		{ "identity", false },
		{ "gzip, deflate, br, zstd", true },
		{ "gzip;q=0", false },
		{ "*", true },
		{ "gzip;q=0.5, identity", false },
		{ "gzip;q=0.5, identity;q=0.5", true },
		{ "gzip, identity;q=0", true },
		{ "br;q=1.0, gzip;q=0.001", true },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_answer(cases[i].header,
			accept_header_takes_gzip(cases[i].header),
			cases[i].takes_gzip);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quality_is_that_of_the_item_that_fits_best),
		cmocka_unit_test(browsers_prefer_html_and_programs_do_not),
		cmocka_unit_test(
			gzip_is_taken_unless_the_plain_text_is_preferred),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
