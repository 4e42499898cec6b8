#include "lib/log.h"

#include "lib/clock.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CAPTURE_MAX = 65536 };

/* The file that gets standard error during a test, and the original
 * descriptor. */
struct capture {
	int memory, before;
	char text[CAPTURE_MAX];
};

static int setup(void **state)
{
	struct capture *c = xcalloc(1, sizeof(*c));

	c->memory = memfd_create("stderr", MFD_CLOEXEC);
	c->before = dup(STDERR_FILENO);
	assert_true(c->memory >= 0 && c->before >= 0);
	assert_true(dup2(c->memory, STDERR_FILENO) >= 0);
	*state = c;
	return 0;
}

/* Returns what was logged and restores standard error. */
static const char *captured(struct capture *c)
{
	ssize_t len = pread(c->memory, c->text, CAPTURE_MAX - 1, 0);

	assert_true(dup2(c->before, STDERR_FILENO) >= 0);
	assert_true(len >= 0);
	c->text[len] = '\0';
	return c->text;
}

static int teardown(void **state)
{
	struct capture *c = *state;

	(void)dup2(c->before, STDERR_FILENO);
	(void)close(c->before);
	(void)close(c->memory);
	free(c);
	log_setup(LOG_TEXT, LOG_INFO);
	return 0;
}

static void assert_matches(const char *text, const char *pattern)
{
	regex_t regex;
	int r;

	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	r = regexec(&regex, text, 0, NULL, 0);
	regfree(&regex);
	if (r != 0) {
		fail_msg("'%s' does not match '%s'", text, pattern);
	}
}

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text != '\0'; text++) {
		lines += *text == '\n';
	}
	return lines;
}

/* klog's header as documented: Lmmdd hh:mm:ss.uuuuuu threadid file:line]
 * msg... */
#define KLOG_HEADER                                                            \
	"[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6} +[0-9]+ "              \
	"test_log\\.c:[0-9]+\\] "

static void text_has_the_format_of_klog(void **state)
{
	struct capture *c = *state;

	log_info("pod bound", log_str("pod", "default/a"), log_int("ms", 12),
		log_num("share", 0.25), LOG_END);
	assert_matches(captured(c),
		"^I" KLOG_HEADER
		"\"pod bound\" pod=\"default/a\" ms=12 "
		"share=0\\.25\n$");
}

static void each_level_has_its_letter(void **state)
{
	struct capture *c = *state;

	log_setup(LOG_TEXT, LOG_DEBUG);
	log_debug("a", LOG_END);
	log_info("b", LOG_END);
	log_warning("c", LOG_END);
	log_error("d", LOG_END);
	assert_matches(captured(c),
		"^D" KLOG_HEADER "\"a\"\nI" KLOG_HEADER "\"b\"\nW" KLOG_HEADER
		"\"c\"\nE" KLOG_HEADER "\"d\"\n$");
}

/* The current time as "mmdd hh:mm:ss.uuuuuu". */
static void klog_now(char *out, size_t size)
{
	char when[CLOCK_TEXT_MAX];

	clock_text(when, clock_wall_us());
	(void)snprintf(out, size, "%.2s%.2s %.15s", when + 5, when + 8,
		when + 11);
}

static void logs_the_current_time_in_utc(void **state)
{
	struct capture *c = *state;
	char before[32];
	char after[32];

	klog_now(before, sizeof(before));
	log_info("m", LOG_END);
	klog_now(after, sizeof(after));
	(void)captured(c);
	/* The text has no year, so it wraps around at the end of a year. */
	if (strcmp(before, after) <= 0) {
		assert_true(strncmp(c->text + 1, before, strlen(before)) >= 0);
		assert_true(strncmp(c->text + 1, after, strlen(after)) <= 0);
	}
}

static void drops_messages_below_the_level(void **state)
{
	struct capture *c = *state;

	log_debug("hidden by default", LOG_END);
	log_setup(LOG_TEXT, LOG_ERROR);
	log_info("hidden", LOG_END);
	log_warning("hidden", LOG_END);
	log_error("seen", LOG_END);
	assert_matches(captured(c), "^E" KLOG_HEADER "\"seen\"\n$");
}

static void control_bytes_and_quotes_cannot_forge_a_line(void **state)
{
	struct capture *c = *state;

	log_warning("one\ntwo", log_str("k", "a\"b\\c\r\x1b[31m\x7f"), LOG_END);
	assert_matches(captured(c),
		"^W" KLOG_HEADER
		"\"one\\\\ntwo\" k=\"a\\\\\"b\\\\\\\\c\\\\x0d\\\\x1b\\[31m"
		"\\\\x7f\"\n$");
	assert_int_equal(count_lines(c->text), 1);
}

static void logs_null_as_empty(void **state)
{
	struct capture *c = *state;
	struct error err = { -1, "cannot open 'x'" };

	log_info("m", log_str("none", NULL), log_err(&err), LOG_END);
	assert_matches(captured(c),
		"\"m\" none=\"\" err=\"cannot open 'x'\"\n$");
}

/* len bytes and a NUL; the caller frees them. */
static char *long_text(size_t len, char byte)
{
	char *text = xcalloc(len + 1, 1);

	memset(text, byte, len);
	return text;
}

static void marks_truncated_values(void **state)
{
	struct capture *c = *state;
	scoped_free char *exact = long_text(1024, 'a');
	scoped_free char *longer = long_text(1025, 'b');

	log_info("m", log_str("exact", exact), log_str("longer", longer),
		log_int("after", 1), LOG_END);
	assert_non_null(strstr(captured(c), "aaa\" longer=\"bbb"));
	assert_non_null(strstr(c->text, "bbb...\" after=1\n"));
	assert_in_range(strlen(c->text), 2048, 2200);
}

static void never_splits_a_character(void **state)
{
	struct capture *c = *state;
	scoped_free char *filler = long_text(1022, 'a');
	scoped_free char *euro = xasprintf("%s\xe2\x82\xac", filler);

	log_info("m", log_str("euro", euro), LOG_END);
	log_setup(LOG_JSON, LOG_INFO);
	log_info("m", log_str("euro", euro), LOG_END);
	assert_non_null(strstr(captured(c), "aaa...\"\n"));
	assert_non_null(strstr(c->text, "aaa...\"}\n"));
}

static void a_huge_line_keeps_its_message(void **state)
{
	struct capture *c = *state;
	scoped_free char *bad = long_text(2000, '\x01');

	log_error("too much", log_str("a", bad), log_str("b", bad),
		log_str("c", bad), LOG_END);
	assert_matches(captured(c), "^E" KLOG_HEADER "\"too much\"\n$");
}

#define JSON_HEAD                                                              \
	"^\\{\"ts\":\"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{6}Z\","     \
	"\"level\":\"%s\",\"caller\":\"test_log\\.c:[0-9]+\",\"msg\":"

static void json_has_one_object_per_line(void **state)
{
	struct capture *c = *state;
	scoped_free char *pattern = xasprintf(JSON_HEAD
		"\"pod \\\\\"bound\\\\\"\",\"pod\":\"a\\\\nb\\\\u0001\","
		"\"ms\":12,\"share\":0\\.25\\}\n$",
		"info");

	log_setup(LOG_JSON, LOG_INFO);
	log_info("pod \"bound\"", log_str("pod", "a\nb\x01"), log_int("ms", 12),
		log_num("none", NAN), log_num("share", 0.25), LOG_END);
	assert_matches(captured(c), pattern);
}

static void truncates_json_values(void **state)
{
	struct capture *c = *state;
	scoped_free char *longer = long_text(3000, 'b');

	log_setup(LOG_JSON, LOG_INFO);
	log_warning("m", log_str("longer", longer), log_int("after", 1),
		LOG_END);
	assert_non_null(strstr(captured(c), "bbb...\",\"after\":1}\n"));
	assert_in_range(strlen(c->text), 1024, 1300);
}

static void a_huge_json_line_is_still_valid(void **state)
{
	struct capture *c = *state;
	scoped_free char *bad = long_text(2000, '\x01');
	scoped_free char *pattern =
		xasprintf(JSON_HEAD "\"too much\"\\}\n$", "error");

	log_setup(LOG_JSON, LOG_INFO);
	log_error("too much", log_str("a", bad), log_str("b", bad),
		log_str("c", bad), LOG_END);
	assert_matches(captured(c), pattern);
}

static void suppresses_and_counts_repeats(void **state)
{
	struct log_limit limit = { 0 };
	uint64_t held = 99;

	(void)state;
	assert_true(log_allow(&limit, 5000, 1000, &held));
	assert_int_equal(held, 0);
	held = 99;
	assert_false(log_allow(&limit, 5000, 1000, &held));
	assert_false(log_allow(&limit, 5999, 1000, &held));
	assert_int_equal(held, 99);
	assert_true(log_allow(&limit, 6000, 1000, &held));
	assert_int_equal(held, 2);
	assert_true(log_allow(&limit, 7000, 1000, &held));
	assert_int_equal(held, 0);
	assert_false(log_allow(&limit, 7500, 1000, NULL));
	assert_true(log_allow(&limit, 8000, 1000, NULL));
}

static void each_text_has_its_own_limit(void **state)
{
	const uint64_t second = LOG_TOPIC_GAP_US;
	struct log_topics topics = { 0 };
	uint64_t held = 99;

	(void)state;
	assert_true(log_allow_topic(&topics, second, 60 * second, "a", NULL));
	assert_false(
		log_allow_topic(&topics, 2 * second, 60 * second, "a", &held));
	/* Another text, but not within the same second. */
	assert_true(
		log_allow_topic(&topics, 2 * second, 60 * second, "b", &held));
	assert_int_equal(held, 1);
	assert_false(log_allow_topic(&topics, 3 * second - 1, 60 * second, "c",
		NULL));
	assert_true(
		log_allow_topic(&topics, 3 * second, 60 * second, "c", &held));
	assert_int_equal(held, 1);
	assert_false(
		log_allow_topic(&topics, 60 * second, 60 * second, "a", NULL));
	assert_true(
		log_allow_topic(&topics, 61 * second, 60 * second, "a", &held));
	assert_int_equal(held, 1);
}

#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOG_TEST(text_has_the_format_of_klog),
		LOG_TEST(each_level_has_its_letter),
		LOG_TEST(logs_the_current_time_in_utc),
		LOG_TEST(drops_messages_below_the_level),
		LOG_TEST(control_bytes_and_quotes_cannot_forge_a_line),
		LOG_TEST(logs_null_as_empty),
		LOG_TEST(marks_truncated_values),
		LOG_TEST(never_splits_a_character),
		LOG_TEST(a_huge_line_keeps_its_message),
		LOG_TEST(json_has_one_object_per_line),
		LOG_TEST(truncates_json_values),
		LOG_TEST(a_huge_json_line_is_still_valid),
		cmocka_unit_test(suppresses_and_counts_repeats),
		cmocka_unit_test(each_text_has_its_own_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
