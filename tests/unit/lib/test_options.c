#include "lib/options.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct config {
	const char *name, *file;
	struct option_list urls;
	bool lead;
	int64_t count;
	uint64_t interval_us;
	uint64_t size_bytes;
	int level;
	int log_format, log_level;
};

#define ROW(member) offsetof(struct config, member)

static const struct option table[] = {
	{ "node-name", "NAME", OPTION_TEXT, ROW(name), NULL, "who we are", 0, 0,
		NULL, "TEST_NODE_NAME" },
	{ "file", "FILE", OPTION_TEXT, ROW(file), "x.db", "where it is kept", 0,
		0, NULL, NULL },
	{ "url", "URL", OPTION_LIST, ROW(urls), "a", "whom to ask", 0, 0, NULL,
		NULL },
	{ "lead", NULL, OPTION_BOOL, ROW(lead), "false", "whether to lead", 0,
		0, NULL, NULL },
	{ "count", "N", OPTION_INTEGER, ROW(count), "3", "how many", -5, 10,
		NULL, NULL },
	{ "interval", "TIME", OPTION_DURATION, ROW(interval_us), "2s",
		"how often", 100e3, 3600e6, NULL, NULL },
	{ "max-size", "SIZE", OPTION_BYTES, ROW(size_bytes), "40GiB",
		"how much", 1024, 1e12, NULL, NULL },
	{ "kvm-probe", "LEVEL", OPTION_CHOICE, ROW(level), "run", "how deep", 0,
		0, "off stat open vm run", NULL },
	OPTIONS_LOG_ROWS(struct config, log_format, log_level),
	{ 0 },
};

static const struct options_program program = { "plimsoll-test",
	"a program that is tested", "[flags] FILE", table };

struct outcome {
	struct config config;
	enum options_outcome what;
	struct option_list rest;
	struct error err;
	int code;
};

static void parse_words(struct outcome *out, bool has_rest, char **argv)
{
	*out = (struct outcome){ .what = OPTIONS_EXIT };
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

/* Nothing of one test's environment is seen by the next. */
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

static void defaults_are_what_the_table_says(void **state)
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

static void flags_take_the_next_word_or_what_follows_the_equals_sign(
	void **state)
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

	/* The last one wins; a value may be empty or look like a flag. */
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

static void wrong_flags_are_named_with_the_reason(void **state)
{
	static const struct {
		char *flag;
		const char *text;
	} cases[] = {
		{ "--nope",
			"there is no flag --nope; see plimsoll-test "
			"--help" },
		{ "--nope=1",
			"there is no flag --nope; see plimsoll-test "
			"--help" },
		{ "--lea", "there is no flag --lea; see plimsoll-test --help" },
		{ "--count", "--count needs a value" },
		{ "--file=", "--file: it is empty" },
		{ "--count=", "--count: '' is not a whole number" },
		{ "--count=1x", "--count: '1x' is not a whole number" },
		{ "--count=1.5", "--count: '1.5' is not a whole number" },
		{ "--count=99999999999999999999",
			"--count: '99999999999999999999' is not a whole "
			"number" },
		{ "--count=-6", "--count: '-6' is not between -5 and 10" },
		{ "--count=11", "--count: '11' is not between -5 and 10" },
		{ "--interval=99ms",
			"--interval: '99ms' is not between 0.1 and 3600 "
			"seconds" },
		{ "--interval=2",
			"--interval: '2' is not a duration such as 2s, 250ms, "
			"1h30m or 7d" },
		{ "--interval=2d",
			"--interval: '2d' is not between 0.1 and 3600 "
			"seconds" },
		{ "--max-size=1023",
			"--max-size: '1023' is not between 1024 and 1e+12" },
		{ "--max-size=2TiB",
			"--max-size: '2TiB' is not between 1024 and 1e+12" },
		{ "--lead=yes", "--lead: 'yes' is neither true nor false" },
		{ "--kvm-probe=ru",
			"--kvm-probe: 'ru' is none of: off stat open vm run" },
		{ "--kvm-probe=stat open",
			"--kvm-probe: 'stat open' is none of: off stat open vm "
			"run" },
		{ "--kvm-probe=",
			"--kvm-probe: '' is none of: off stat open vm run" },
		{ "word", "'word' is no flag; see plimsoll-test --help" },
		{ "-x", "'-x' is no flag; see plimsoll-test --help" },
		{ "--", "'--' is no flag; see plimsoll-test --help" },
	};
	struct outcome out;

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		PARSE(&out, cases[i].flag);
		assert_int_equal(out.code, -EINVAL);
		assert_string_equal(out.err.text, cases[i].text);
	}
}

static void a_flag_beats_its_variable_which_beats_the_default(void **state)
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
	/* An empty one says nothing. */
	set_env("PLIMSOLL_COUNT", "");
	PARSE(&out, "--lead=false");
	assert_int_equal(out.config.count, 3);
	assert_false(out.config.lead);
}

static void the_further_variable_comes_before_our_own(void **state)
{
	struct outcome out;

	(void)state;
	set_env("TEST_NODE_NAME", "further");
	PARSE(&out, NULL);
	assert_string_equal(out.config.name, "further");
	set_env("PLIMSOLL_NODE_NAME", "own");
	PARSE(&out, NULL);
	assert_string_equal(out.config.name, "own");
	PARSE(&out, "--node-name=flag");
	assert_string_equal(out.config.name, "flag");
}

static void a_wrong_variable_is_named(void **state)
{
	struct outcome out;

	(void)state;
	set_env("PLIMSOLL_COUNT", "many");
	PARSE(&out, NULL);
	assert_int_equal(out.code, -EINVAL);
	assert_string_equal(out.err.text,
		"PLIMSOLL_COUNT: 'many' is not a whole number");
}

static void a_list_of_the_environment_is_split_at_commas(void **state)
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

static void a_list_of_flags_replaces_all_others(void **state)
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

static void a_list_has_an_end(void **state)
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
	assert_string_equal(out.err.text,
		"--url: it is given more than 16 times");
	set_env("PLIMSOLL_URL", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17");
	PARSE(&out, NULL);
	assert_int_equal(out.code, -EINVAL);
	assert_string_equal(out.err.text,
		"PLIMSOLL_URL: it is given more than 16 times");
}

static void what_is_no_flag_goes_to_the_rest(void **state)
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

/* What a parse prints on standard output. */
static void printed_by(char *out, size_t size, char *flag)
{
	scoped_fd int memory = memfd_create("stdout", MFD_CLOEXEC);
	scoped_fd int before = dup(STDOUT_FILENO);
	struct outcome outcome;
	ssize_t len;

	(void)fflush(stdout);
	assert_true(dup2(memory, STDOUT_FILENO) >= 0);
	PARSE(&outcome, "--lead", flag, "--nope");
	(void)fflush(stdout);
	assert_true(dup2(before, STDOUT_FILENO) >= 0);
	assert_int_equal(outcome.code, 0);
	assert_int_equal(outcome.what, OPTIONS_EXIT);
	len = pread(memory, out, size - 1, 0);
	assert_true(len >= 0);
	out[len] = '\0';
}

static void help_and_version_are_printed_and_end_it(void **state)
{
	char text[8192];

	(void)state;
	printed_by(text, sizeof(text), "--help");
	assert_non_null(strstr(text, "usage: plimsoll-test [flags] FILE\n"));
	printed_by(text, sizeof(text), "-h");
	assert_non_null(strstr(text, "usage: plimsoll-test [flags] FILE\n"));
	printed_by(text, sizeof(text), "--version");
	assert_memory_equal(text, "plimsoll-test ", 14);
	assert_memory_equal(text + 14, plimsoll_version,
		strlen(plimsoll_version));
}

static void help_lists_everything(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_non_null(out);
	options_help(&program, out);
	assert_int_equal(fclose(out), 0);
	assert_non_null(
		strstr(text, "plimsoll-test: a program that is tested\n"));
	for (const struct option *o = table; o->name != NULL; o++) {
		scoped_free char *flag = xasprintf("\n  --%s%s%s\n        %s",
			o->name, o->placeholder == NULL ? "" : " ",
			o->placeholder == NULL ? "" : o->placeholder, o->help);

		assert_non_null(strstr(text, flag));
	}
	assert_non_null(strstr(text,
		"who we are [PLIMSOLL_NODE_NAME, TEST_NODE_NAME]\n"));
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
		OPTIONS_TEST(defaults_are_what_the_table_says),
		OPTIONS_TEST(
			flags_take_the_next_word_or_what_follows_the_equals_sign),
		OPTIONS_TEST(wrong_flags_are_named_with_the_reason),
		OPTIONS_TEST(a_flag_beats_its_variable_which_beats_the_default),
		OPTIONS_TEST(the_further_variable_comes_before_our_own),
		OPTIONS_TEST(a_wrong_variable_is_named),
		OPTIONS_TEST(a_list_of_the_environment_is_split_at_commas),
		OPTIONS_TEST(a_list_of_flags_replaces_all_others),
		OPTIONS_TEST(a_list_has_an_end),
		OPTIONS_TEST(what_is_no_flag_goes_to_the_rest),
		OPTIONS_TEST(help_and_version_are_printed_and_end_it),
		OPTIONS_TEST(help_lists_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
