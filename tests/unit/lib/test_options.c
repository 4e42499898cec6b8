#include "lib/address.h"
#include "lib/options.h"

#include "lib/memory.h"
#include "tests/support/capture.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct config {
	const char *name, *file, *http;
	struct option_list urls;
	bool lead;
	int64_t count;
	uint64_t interval_us;
	uint64_t size_bytes;
	int level;
	int log_format, log_level;
};

#define ROW(name_, placeholder_, type_, member_)                               \
	.name = (name_), .placeholder = (placeholder_), .type = (type_),       \
	.offset = offsetof(struct config, member_)

static const struct option table[] = {
	{ ROW("node-name", "NAME", OPTION_TEXT, name),
		.help = "name of the node", .extra_env = "TEST_NODE_NAME" },
	{ ROW("file", "FILE", OPTION_TEXT, file), .fallback = "x.db",
		.help = "name of the file" },
	{ ROW("http", "ADDRESS", OPTION_ADDRESS, http), .fallback = ":80",
		.help = "where to listen" },
	{ ROW("url", "URL", OPTION_LIST, urls), .fallback = "a",
		.help = "URL of the server" },
	{ ROW("lead", NULL, OPTION_BOOL, lead), .fallback = "false",
		.help = "whether to lead" },
	{ ROW("count", "N", OPTION_INTEGER, count), .fallback = "3",
		.help = "how many", .min = -5, .max = 10 },
	{ ROW("interval", "TIME", OPTION_DURATION, interval_us),
		.fallback = "2s", .help = "how often", .min = 100e3,
		.max = 3600e6 },
	{ ROW("max-size", "SIZE", OPTION_BYTES, size_bytes),
		.fallback = "40GiB", .help = "how much", .min = 1024,
		.max = 1e12 },
	{ ROW("kvm-probe", "LEVEL", OPTION_CHOICE, level), .fallback = "run",
		.help = "how deep", .choices = "off stat open vm run" },
	OPTIONS_LOG_ROWS(struct config, log_format, log_level),
	{ .name = NULL },
};

static const struct options_program program = {
	.name = "plimsoll-test",
	.summary = "a program under test",
	.usage = "[flags] FILE",
	.table = table,
};

struct outcome {
	struct config config;
	enum options_outcome what;
	struct option_list rest;
	struct error err;
	int code;
};

static void parse_words(struct outcome *out, bool has_rest, char **argv)
{
	*out = (struct outcome){ .what = OPTIONS_HELP };
	out->code = options_parse(&out->config, &out->what,
		has_rest ? &out->rest : NULL, &program, argv, &out->err);
}

#define PARSE(out, ...)                                                        \
	parse_words((out), false,                                              \
		(char *[]){ "plimsoll-test", __VA_ARGS__, NULL })
#define PARSE_WITH_REST(out, ...)                                              \
	parse_words((out), true,                                               \
		(char *[]){ "plimsoll-test", __VA_ARGS__, NULL })

static void set_env(const char *name, const char *text)
{
	assert_int_equal(setenv(name, text, 1), 0);
}

/* No test sees the environment of another. */
static int clean(void **state)
{
	static const char *const names[] = { "TEST_NODE_NAME",
		"PLIMSOLL_NODE_NAME", "PLIMSOLL_URL", "PLIMSOLL_LEAD",
		"PLIMSOLL_COUNT", "PLIMSOLL_INTERVAL", "PLIMSOLL_MAX_SIZE",
		"PLIMSOLL_KVM_PROBE", "PLIMSOLL_LOG_FORMAT",
		"PLIMSOLL_LOG_LEVEL" };

	(void)state;
	for (size_t i = 0; i < count_of(names); i++) {
		(void)unsetenv(names[i]);
	}
	return 0;
}

static void uses_the_defaults_of_the_table(void **state)
{
	struct outcome out;

	(void)state;
	PARSE(&out, NULL);
	assert_int_equal(out.code, 0);
	assert_int_equal(out.what, OPTIONS_RUN);
	assert_null(out.config.name);
	assert_int_equal(out.config.urls.count, 1);
	assert_string_equal(out.config.urls.items[0], "a");
	assert_false(out.config.lead);
	assert_int_equal(out.config.count, 3);
	assert_int_equal(out.config.interval_us, 2000000);
	assert_int_equal(out.config.size_bytes, 42949672960);
	assert_int_equal(out.config.level, 4);
	assert_int_equal(out.config.log_format, 0);
	assert_int_equal(out.config.log_level, 1);
}

static void a_value_may_follow_as_a_word_or_after_equals(void **state)
{
	struct outcome out;

	(void)state;
	PARSE(&out, "--node-name", "worker-1", "--count=-5", "--interval", "1h",
		"--lead", "--kvm-probe=off", "--log-format", "json",
		"--log-level=error");
	assert_int_equal(out.code, 0);
	assert_int_equal(out.what, OPTIONS_RUN);
	assert_string_equal(out.config.name, "worker-1");
	assert_int_equal(out.config.count, -5);
	assert_int_equal(out.config.interval_us, 3600000000);
	assert_true(out.config.lead);
	assert_int_equal(out.config.level, 0);
	assert_int_equal(out.config.log_format, 1);
	assert_int_equal(out.config.log_level, 3);

	/* The last one counts; a value may be empty or look like a flag. */
	PARSE(&out, "--lead", "--lead=false", "--count=1", "--count=2",
		"--node-name=");
	assert_int_equal(out.code, 0);
	assert_false(out.config.lead);
	assert_int_equal(out.config.count, 2);
	assert_string_equal(out.config.name, "");
	PARSE(&out, "--node-name", "--lead", "--lead=1");
	assert_int_equal(out.code, 0);
	assert_string_equal(out.config.name, "--lead");
	assert_true(out.config.lead);
}

static void an_address_is_an_ip_address_and_a_port(void **state)
{
	static char *const good[] = { "--http=127.0.0.1:0", "--http=[::1]:80",
		"--http=:65535", "--http=0.0.0.0:1" };
	static char *const bad[] = { "--http=80", "--http=localhost:80",
		"--http=::1:80", "--http=[::1]", "--http=127.0.0.1:65536",
		"--http=[127.0.0.1]:80", "--http=", "--http=[]:80",
		"--http=127.0.0.1:" };
	char host[ADDRESS_HOST_MAX];
	struct outcome out;

	(void)state;
	for (size_t i = 0; i < count_of(good); i++) {
		PARSE(&out, good[i]);
		assert_int_equal(out.code, 0);
		assert_string_equal(out.config.http, good[i] + 7);
	}
	for (size_t i = 0; i < count_of(bad); i++) {
		PARSE(&out, bad[i]);
		assert_int_equal(out.code, -EINVAL);
	}
	assert_true(address_split(host, ":80"));
	assert_string_equal(host, "");
	assert_true(address_split(host, "[::1]:80"));
	assert_string_equal(host, "::1");
}

static void errors_name_the_flag_and_the_reason(void **state)
{
	static const struct {
		char *flag;
		const char *text;
	} cases[] = {
		{ "--nope",
			"unknown flag --nope; see plimsoll-test "
			"--help" },
		{ "--nope=1",
			"unknown flag --nope; see plimsoll-test "
			"--help" },
		{ "--lea", "unknown flag --lea; did you mean --lead?" },
		{ "--intreval=1s",
			"unknown flag --intreval; did you mean --interval?" },
		{ "--count", "--count needs a value" },
		{ "--file=", "--file: must not be empty" },
		{ "--count=", "--count: '' is not a whole number" },
		{ "--count=1x", "--count: '1x' is not a whole number" },
		{ "--count=1.5", "--count: '1.5' is not a whole number" },
		{ "--count=99999999999999999999",
			"--count: '99999999999999999999' is not a whole "
			"number" },
		{ "--count=-6", "--count: '-6' is not between -5 and 10" },
		{ "--count=11", "--count: '11' is not between -5 and 10" },
		{ "--interval=99ms",
			"--interval: '99ms' is not between 100ms and 1h" },
		{ "--interval=2",
			"--interval: '2' is not a duration such as 2s, 250ms, "
			"1h30m or 7d" },
		{ "--interval=2d",
			"--interval: '2d' is not between 100ms and 1h" },
		{ "--max-size=1023",
			"--max-size: '1023' is not between 1KiB and 1TB" },
		{ "--max-size=2TiB",
			"--max-size: '2TiB' is not between 1KiB and 1TB" },
		{ "--lead=yes", "--lead: 'yes' is neither true nor false" },
		{ "--kvm-probe=ru",
			"--kvm-probe: 'ru' is not one of: off stat open vm "
			"run" },
		{ "--kvm-probe=stat open",
			"--kvm-probe: 'stat open' is not one of: off stat open "
			"vm "
			"run" },
		{ "--kvm-probe=",
			"--kvm-probe: '' is not one of: off stat open vm run" },
		{ "word", "unknown argument 'word'; see plimsoll-test --help" },
		{ "-x", "unknown argument '-x'; see plimsoll-test --help" },
		{ "--", "unknown argument '--'; see plimsoll-test --help" },
	};
	struct outcome out;

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		PARSE(&out, cases[i].flag);
		assert_int_equal(out.code, -EINVAL);
		assert_string_equal(out.err.text, cases[i].text);
	}
}

static void a_flag_overrides_variable_and_default(void **state)
{
	struct outcome out;

	(void)state;
	set_env("PLIMSOLL_COUNT", "7");
	set_env("PLIMSOLL_LEAD", "true");
	set_env("PLIMSOLL_KVM_PROBE", "vm");
	set_env("PLIMSOLL_INTERVAL", "500ms");
	set_env("PLIMSOLL_MAX_SIZE", "2MiB");
	set_env("PLIMSOLL_NODE_NAME", "from-env");
	PARSE(&out, "--count=8");
	assert_int_equal(out.code, 0);
	assert_int_equal(out.config.count, 8);
	assert_true(out.config.lead);
	assert_int_equal(out.config.level, 3);
	assert_int_equal(out.config.interval_us, 500000);
	assert_int_equal(out.config.size_bytes, 2097152);
	assert_string_equal(out.config.name, "from-env");
	/* An empty variable counts as unset. */
	set_env("PLIMSOLL_COUNT", "");
	PARSE(&out, "--lead=false");
	assert_int_equal(out.config.count, 3);
	assert_false(out.config.lead);
}

static void the_main_variable_overrides_the_second_one(void **state)
{
	struct outcome out;

	(void)state;
	set_env("TEST_NODE_NAME", "second");
	PARSE(&out, NULL);
	assert_string_equal(out.config.name, "second");
	set_env("PLIMSOLL_NODE_NAME", "main");
	PARSE(&out, NULL);
	assert_string_equal(out.config.name, "main");
	PARSE(&out, "--node-name=flag");
	assert_string_equal(out.config.name, "flag");
}

static void errors_name_the_variable(void **state)
{
	struct outcome out;

	(void)state;
	set_env("PLIMSOLL_COUNT", "many");
	PARSE(&out, NULL);
	assert_int_equal(out.code, -EINVAL);
	assert_string_equal(out.err.text,
		"PLIMSOLL_COUNT: 'many' is not a whole number");
}

static void splits_the_variable_of_a_list_at_commas(void **state)
{
	struct outcome out;

	(void)state;
	set_env("PLIMSOLL_URL", "tcp://a:1,tcp://b:2,tcp://c:3");
	PARSE(&out, NULL);
	assert_int_equal(out.code, 0);
	assert_int_equal(out.config.urls.count, 3);
	assert_string_equal(out.config.urls.items[0], "tcp://a:1");
	assert_string_equal(out.config.urls.items[1], "tcp://b:2");
	assert_string_equal(out.config.urls.items[2], "tcp://c:3");
}

static void a_list_of_flags_replaces_other_lists(void **state)
{
	struct outcome out;

	(void)state;
	set_env("PLIMSOLL_URL", "tcp://a:1,tcp://b:2");
	PARSE(&out, "--url", "one,two", "--lead", "--url=three");
	assert_int_equal(out.code, 0);
	assert_int_equal(out.config.urls.count, 2);
	assert_string_equal(out.config.urls.items[0], "one,two");
	assert_string_equal(out.config.urls.items[1], "three");
}

static void limits_the_length_of_lists(void **state)
{
	char *argv[OPTION_LIST_MAX + 3] = { "plimsoll-test" };
	struct outcome out;

	(void)state;
	for (size_t i = 1; i <= OPTION_LIST_MAX; i++) {
		argv[i] = "--url=x";
	}
	parse_words(&out, false, argv);
	assert_int_equal(out.code, 0);
	assert_int_equal(out.config.urls.count, OPTION_LIST_MAX);
	argv[OPTION_LIST_MAX + 1] = "--url=x";
	parse_words(&out, false, argv);
	assert_int_equal(out.code, -EINVAL);
	assert_string_equal(out.err.text, "--url: given more than 16 times");
	set_env("PLIMSOLL_URL", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17");
	PARSE(&out, NULL);
	assert_int_equal(out.code, -EINVAL);
	assert_string_equal(out.err.text,
		"PLIMSOLL_URL: given more than 16 times");
}

static void other_arguments_go_to_the_rest(void **state)
{
	struct outcome out;

	(void)state;
	PARSE_WITH_REST(&out, "backup", "--count=1", "-", "--lead", "file");
	assert_int_equal(out.code, 0);
	assert_int_equal(out.rest.count, 3);
	assert_string_equal(out.rest.items[0], "backup");
	assert_string_equal(out.rest.items[1], "-");
	assert_string_equal(out.rest.items[2], "file");
	assert_true(out.config.lead);
}

/* Captures what a parse prints to standard output. */
static void printed_by(char *out, size_t size, char *flag)
{
	struct capture capture;
	struct outcome outcome;

	capture_begin(&capture, STDOUT_FILENO);
	PARSE(&outcome, "--lead", flag, "--nope");
	capture_end(&capture, out, size);
	assert_int_equal(outcome.code, 0);
	assert_int_equal(outcome.what, OPTIONS_HELP);
}

static void help_and_version_stop_parsing(void **state)
{
	struct outcome outcome;
	char text[8192];

	(void)state;
	printed_by(text, sizeof(text), "--help");
	assert_non_null(strstr(text, "usage: plimsoll-test [flags] FILE\n"));
	printed_by(text, sizeof(text), "-h");
	assert_non_null(strstr(text, "usage: plimsoll-test [flags] FILE\n"));
	PARSE(&outcome, "--lead", "--version", "--nope");
	assert_int_equal(outcome.code, 0);
	assert_int_equal(outcome.what, OPTIONS_VERSION);
}

static void help_lists_every_option(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_non_null(out);
	options_help(&program, out);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "plimsoll-test: a program under test\n"));
	for (const struct option *o = table; o->name != NULL; o++) {
		scoped_free char *flag = xasprintf("\n  --%s%s%s\n        %s",
			o->name, o->placeholder == NULL ? "" : " ",
			o->placeholder == NULL ? "" : o->placeholder, o->help);

		assert_non_null(strstr(text, flag));
	}
	assert_non_null(strstr(text,
		"name of the node [PLIMSOLL_NODE_NAME, TEST_NODE_NAME]\n"));
	assert_non_null(
		strstr(text, "how often (default 2s) [PLIMSOLL_INTERVAL]\n"));
	assert_non_null(strstr(text, "\n  --help\n"));
	assert_non_null(strstr(text, "\n  --version\n"));
	free(text);
}

#define OPTIONS_TEST(name) cmocka_unit_test_setup(name, clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPTIONS_TEST(uses_the_defaults_of_the_table),
		OPTIONS_TEST(a_value_may_follow_as_a_word_or_after_equals),
		OPTIONS_TEST(an_address_is_an_ip_address_and_a_port),
		OPTIONS_TEST(errors_name_the_flag_and_the_reason),
		OPTIONS_TEST(a_flag_overrides_variable_and_default),
		OPTIONS_TEST(the_main_variable_overrides_the_second_one),
		OPTIONS_TEST(errors_name_the_variable),
		OPTIONS_TEST(splits_the_variable_of_a_list_at_commas),
		OPTIONS_TEST(a_list_of_flags_replaces_other_lists),
		OPTIONS_TEST(limits_the_length_of_lists),
		OPTIONS_TEST(other_arguments_go_to_the_rest),
		OPTIONS_TEST(help_and_version_stop_parsing),
		OPTIONS_TEST(help_lists_every_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
