#include "aggregator/remote_read/range_answer.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { ROWS = 3, FIELDS = 2 };

struct read {
	double values[ROWS * FIELDS];
	size_t found;
	struct error error;
	int result;
};

/* Points at 100, 160 and 220 s. */
static struct read read_text(const char *text)
{
	struct read read = { .found = 99 };
	const struct range_answer_grid grid = { .from_us = 100000000,
		.step_us = 60000000,
		.rows = ROWS,
		.fields = FIELDS,
		.label = "f",
		.values = read.values };

	for (size_t i = 0; i < count_of(read.values); i++) {
		read.values[i] = NAN;
	}
	read.result = range_answer_read(&read.found, &grid, text, strlen(text),
		&read.error);
	return read;
}

#define ANSWER(series)                                                         \
	"{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\","         \
	"\"result\":[" series "]}}"

static void values_go_to_their_row_and_field(void **state)
{
	struct read read = read_text(ANSWER(
		"{\"metric\":{\"f\":\"0\"},\"values\":[[100,\"1.5\"],[220,"
		"\"-2e-3\"]]},"
		"{\"metric\":{\"x\":\"y\",\"f\":\"1\"},\"values\":[[160.0,"
		"\"7\"]]}"));

	(void)state;
	assert_int_equal(read.result, 0);
	assert_int_equal(read.found, 3);
	assert_float_equal(read.values[0], 1.5, 0);
	assert_true(isnan(read.values[1]));
	assert_true(isnan(read.values[2]));
	assert_float_equal(read.values[3], 7, 0);
	assert_float_equal(read.values[4], -0.002, 1e-12);
	assert_true(isnan(read.values[5]));
}

static void an_answer_without_series_has_no_values(void **state)
{
	struct read read = read_text(ANSWER(""));

	(void)state;
	assert_int_equal(read.result, 0);
	assert_int_equal(read.found, 0);
}

/* VictoriaMetrics may move the points for its cache. */
static void times_beside_the_grid_go_to_the_nearest_point(void **state)
{
	struct read read = read_text(ANSWER(
		"{\"metric\":{\"f\":\"0\"},\"values\":[[110,\"1\"],[159.999,"
		"\"2\"],[40,\"8\"],[280,\"9\"],[-1e300,\"9\"],[1e300,"
		"\"9\"]]}"));

	(void)state;
	assert_int_equal(read.found, 2);
	assert_float_equal(read.values[0], 1, 0);
	assert_float_equal(read.values[2], 2, 0);
	assert_true(isnan(read.values[4]));
}

static void what_is_no_number_stays_a_gap(void **state)
{
	struct read read = read_text(ANSWER(
		"{\"metric\":{\"f\":\"0\"},\"values\":[[100,\"NaN\"],[160,"
		"\"+Inf\"],[220,\"-Inf\"]]}"));

	(void)state;
	assert_int_equal(read.result, 0);
	assert_int_equal(read.found, 0);
}

static void members_may_come_in_any_order_and_others_are_skipped(void **state)
{
	struct read read = read_text(
		"\n{\"isPartial\":false,\"stats\":{\"a\":[1,{\"b\":null}]},"
		"\"data\":{\"result\":[{\"values\":[[100,\"5\"]],\"x\":[],"
		"\"metric\":{\"f\":\"1\"}}]},\"warnings\":[\"]}\\\"\"],"
		"\"status\":\"success\"} \n");

	(void)state;
	assert_int_equal(read.result, 0);
	assert_float_equal(read.values[1], 5, 0);
}

static void series_of_other_fields_are_ignored(void **state)
{
	static const char *const labels[] = { "2", "-1", "1x", "", " 1",
		"99999999999999999999", "0x1" };

	(void)state;
	for (size_t i = 0; i < count_of(labels); i++) {
		scoped_free char *text = xasprintf(
			ANSWER("{\"metric\":{\"f\":\"%s\"},\"values\":[[100,"
			       "\"5\"]]}"),
			labels[i]);
		struct read read = read_text(text);

		assert_int_equal(read.result, 0);
		assert_int_equal(read.found, 0);
	}
}

static void the_engines_error_is_in_the_sentence(void **state)
{
	struct read read = read_text(
		"{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":"
		"\"query \\\"x\\\"\\ntoo long\"}");

	(void)state;
	assert_int_equal(read.result, -EPROTO);
	assert_string_equal(read.error.text,
		"the engine says: query \"x\" too long");
	assert_int_equal(read_text("{\"status\":\"success\"}").result, -EPROTO);
	assert_int_equal(read_text("{}").result, -EPROTO);
}

static void other_texts_are_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"<html>",
		"[]",
		"null",
		"{\"status\":\"success\"",
		ANSWER("") "x",
		ANSWER("{"),
		ANSWER("{\"metric\":{\"f\":\"0\"},\"values\":[[100]]}"),
		ANSWER("{\"metric\":{\"f\":\"0\"},\"values\":[[100,\"x\"]]}"),
		ANSWER("{\"metric\":{\"f\":\"0\"},\"values\":[[100,\"1]]}"),
		ANSWER("{\"metric\":{\"f\":0},\"values\":[]}"),
		ANSWER("{\"metric\":{\"f\":\"0\"},\"values\":[[\" 1\",2]]}"),
		ANSWER("{\"x\":[}]}"),
		ANSWER("{\"x\":[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]}"),
	};

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		struct read read = read_text(texts[i]);

		assert_int_equal(read.result, -EBADMSG);
		assert_int_equal(read.found, 99);
	}
}

static void an_error_is_one_printable_line(void **state)
{
	static const char text[] =
		"{\"a\":[1],\"error\":\"a\x01\xff\\u0000b\"}";
	char out[16];

	(void)state;
	answer_error(out, sizeof(out), text, strlen(text));
	assert_string_equal(out, "a   0000b");
	answer_error(out, sizeof(out), "<html>", 6);
	assert_string_equal(out, "");
	answer_error(out, sizeof(out), "{\"error\":\"0123456789abcdefg\"}", 29);
	assert_string_equal(out, "0123456789abcde");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_go_to_their_row_and_field),
		cmocka_unit_test(an_answer_without_series_has_no_values),
		cmocka_unit_test(times_beside_the_grid_go_to_the_nearest_point),
		cmocka_unit_test(what_is_no_number_stays_a_gap),
		cmocka_unit_test(
			members_may_come_in_any_order_and_others_are_skipped),
		cmocka_unit_test(series_of_other_fields_are_ignored),
		cmocka_unit_test(the_engines_error_is_in_the_sentence),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(an_error_is_one_printable_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
