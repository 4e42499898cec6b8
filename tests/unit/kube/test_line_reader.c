#include "kube/watch_event.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

struct sink {
	struct buffer text;	   /* each line in brackets */
	struct line_reader *lines; /* freed at the first line unless NULL */
};

static bool collect(void *owner, const char *line, size_t len)
{
	struct sink *sink = owner;

	buffer_char(&sink->text, '[');
	buffer_append(&sink->text, line, len);
	buffer_char(&sink->text, ']');
	if (sink->lines != NULL) {
		line_reader_fini(sink->lines);
		memset(sink->lines, 0xa5, sizeof(*sink->lines));
		return false;
	}
	return true;
}

/* Feeds text in pieces of size bytes. */
static void check(const char *text, size_t size, const char *expected)
{
	struct sink sink = { .text = BUFFER_MAX(1000) };
	struct line_reader lines;
	size_t len = strlen(text);

	line_reader_init(&lines, 10);
	for (size_t at = 0; at < len; at += size) {
		scoped_free char *piece =
			xmemdup(text + at, size < len - at ? size : len - at);

		assert_int_equal(line_reader_feed(&lines, piece,
					 size < len - at ? size : len - at,
					 collect, &sink, NULL),
			0);
	}
	assert_string_equal(sink.text.data != NULL ? sink.text.data : "",
		expected);
	line_reader_fini(&lines);
	buffer_fini(&sink.text);
}

static void finds_the_same_lines_in_any_chunks(void **state)
{
	(void)state;
	for (size_t size = 1; size < 30; size++) {
		check("ab\n\ncdef\n0123456789\nrest", size,
			"[ab][cdef][0123456789]");
		check("\n\n\n", size, "");
	}
}

static void refuses_a_line_that_is_too_long(void **state)
{
	struct sink sink = { .text = BUFFER_MAX(1000) };
	struct line_reader lines;
	struct error err;

	(void)state;
	line_reader_init(&lines, 10);
	assert_int_equal(line_reader_feed(&lines, "0123456789", 10, collect,
				 &sink, NULL),
		0);
	assert_int_equal(
		line_reader_feed(&lines, "x\n", 2, collect, &sink, &err),
		-EMSGSIZE);
	assert_string_equal(err.text, "a line is longer than 10 bytes");
	line_reader_fini(&lines);
	line_reader_init(&lines, 10);
	assert_int_equal(line_reader_feed(&lines, "0123456789x\n", 12, collect,
				 &sink, NULL),
		-EMSGSIZE);
	assert_int_equal(sink.text.len, 0);
	line_reader_fini(&lines);
}

static void may_be_freed_by_its_callback(void **state)
{
	struct sink sink = { .text = BUFFER_MAX(1000) };
	struct line_reader lines;

	(void)state;
	sink.lines = &lines;
	line_reader_init(&lines, 10);
	assert_int_equal(
		line_reader_feed(&lines, "a\nb\n", 4, collect, &sink, NULL), 0);
	line_reader_init(&lines, 10);
	assert_int_equal(line_reader_feed(&lines, "c", 1, collect, &sink, NULL),
		0);
	assert_int_equal(
		line_reader_feed(&lines, "d\ne\n", 4, collect, &sink, NULL), 0);
	assert_string_equal(sink.text.data, "[a][cd]");
	buffer_fini(&sink.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_same_lines_in_any_chunks),
		cmocka_unit_test(refuses_a_line_that_is_too_long),
		cmocka_unit_test(may_be_freed_by_its_callback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
