#include "kubectl/flags.h"

#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

static const uint32_t accepted = FLAG_BIT(FLAG_ALL_NAMESPACES) |
	FLAG_BIT(FLAG_OUTPUT) | FLAG_BIT(FLAG_WATCH) | FLAG_BIT(FLAG_LIMIT);

static void reads_each_form_of_a_flag(void **state)
{
	static const char *const arguments[] = { "-Aw=false", "a", "-ojson",
		"--limit", "7", "-n=x", "--context=", "--", "-o", NULL };
	static const unsigned bounds[] = { 1, 100 };
	struct flags flags = { 0 };
	unsigned limit = 0;

	(void)state;
	assert_int_equal(flags_parse(&flags, accepted, arguments, NULL), 0);
	assert_true(flags_has(&flags, FLAG_ALL_NAMESPACES));
	assert_false(flags_has(&flags, FLAG_WATCH));
	assert_string_equal(flags.values[FLAG_OUTPUT], "json");
	assert_int_equal(flags_number(&limit, &flags, FLAG_LIMIT, bounds, NULL),
		0);
	assert_int_equal(limit, 7);
	assert_string_equal(flags.namespace, "x");
	assert_int_equal(flags.name_count, 2);
	assert_string_equal(flags.names[1], "-o");
	assert_int_equal(flags.global_count, 2);
	assert_string_equal(flags.globals[0], "--namespace=x");
	assert_string_equal(flags.globals[1], "--context=");
	flags_fini(&flags);
}

static void mistakes_have_pflags_words(void **state)
{
	static const struct {
		const char *arguments[3], *sentence;
	} cases[] = {
		{ { "--yes" }, "unknown flag: --yes" },
		{ { "-Ax" }, "unknown shorthand flag: 'x' in -Ax" },
		{ { "--limit" }, "flag needs an argument: --limit" },
		{ { "-An" }, "flag needs an argument: 'n' in -An" },
		{ { "--watch=2" },
			"invalid argument \"2\" for \"--watch\" flag: it is "
			"true or false" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct flags flags = { 0 };
		struct error err;

		assert_int_equal(
			flags_parse(&flags, accepted, cases[i].arguments, &err),
			-EINVAL);
		assert_string_equal(err.text, cases[i].sentence);
		flags_fini(&flags);
	}
}

static void numbers_have_bounds(void **state)
{
	static const char *const texts[] = { "0", "101", "", "-1", "1x",
		"99999999999999999999" };
	static const unsigned bounds[] = { 1, 100 };
	struct flags flags = { 0 };
	unsigned limit = 5;

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		flags.values[FLAG_LIMIT] = texts[i];
		assert_int_equal(
			flags_number(&limit, &flags, FLAG_LIMIT, bounds, NULL),
			-EINVAL);
	}
	flags.values[FLAG_LIMIT] = NULL;
	assert_int_equal(flags_number(&limit, &flags, FLAG_LIMIT, bounds, NULL),
		0);
	assert_int_equal(limit, 3); /* the help says so */
}

static void finds_the_command_behind_global_flags(void **state)
{
	static const struct {
		const char *arguments[5];
		size_t at;
	} cases[] = {
		{ { "top" }, 0 },
		{ { "--context", "top", "top" }, 2 },
		{ { "--context=top", "-n", "x", "top" }, 3 },
		{ { "-nx", "--insecure-skip-tls-verify", "top" }, 2 },
		{ { "--yes", "top" }, 0 },
		{ { "--context" }, 1 },
		{ { "-" }, 0 },
		{ { NULL }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(flags_find_command(cases[i].arguments),
			cases[i].at);
	}
}

static void a_flood_of_arguments_is_refused(void **state)
{
	const char *names[FLAGS_NAMES_MAX + 2] = { 0 };
	const char *globals[FLAGS_GLOBAL_MAX + 2] = { 0 };
	struct flags flags = { 0 };

	(void)state;
	for (size_t i = 0; i <= FLAGS_NAMES_MAX; i++) {
		names[i] = "x";
	}
	for (size_t i = 0; i <= FLAGS_GLOBAL_MAX; i++) {
		globals[i] = "--as-group=x";
	}
	assert_int_equal(flags_parse(&flags, 0, names, NULL), -EINVAL);
	flags = (struct flags){ 0 };
	assert_int_equal(flags_parse(&flags, 0, globals, NULL), -EINVAL);
	flags_fini(&flags);
}

static void the_help_names_the_accepted_flags_alone(void **state)
{
	scoped_buffer struct buffer none = BUFFER_MAX(65536);
	scoped_buffer struct buffer all = BUFFER_MAX(65536);
	scoped_buffer struct buffer out = BUFFER_MAX(65536);

	(void)state;
	flags_help(&none, 0);
	assert_string_equal(none.data, "Options:\n");
	flags_help(&out, FLAG_BIT(FLAG_OUTPUT));
	assert_non_null(strstr(out.data, "    -o, --output="));
	assert_null(strstr(out.data, "--limit"));
	flags_help(&all, UINT32_MAX);
	assert_non_null(strstr(all.data, "--limit="));
}

static void help_is_asked_for_in_each_form(void **state)
{
	static const char *const forms[] = { "--help", "-h", "-Ah",
		"--help=true" };

	(void)state;
	for (size_t i = 0; i < count_of(forms); i++) {
		const char *const arguments[] = { forms[i], NULL };
		struct flags flags = { 0 };

		assert_int_equal(flags_parse(&flags, accepted, arguments, NULL),
			0);
		assert_true(flags.wants_help);
		flags_fini(&flags);
	}
}

static void the_value_of_a_letter_may_follow_it(void **state)
{
	static const char *const arguments[] = { "-An", "x", "-o", "json", "a",
		NULL };
	struct flags flags = { 0 };

	(void)state;
	assert_int_equal(flags_parse(&flags, accepted, arguments, NULL), 0);
	assert_string_equal(flags.namespace, "x");
	assert_string_equal(flags.values[FLAG_OUTPUT], "json");
	assert_int_equal(flags.name_count, 1);
	assert_string_equal(flags.names[0], "a");
	assert_false(flags.wants_help);
	assert_false(flags.has_kubeconfig);
	flags_fini(&flags);
}

static void a_namespace_is_a_name(void **state)
{
	static const char *const arguments[] = { "-n", "a/b", NULL };
	struct flags flags = { 0 };
	struct error err;

	(void)state;
	assert_int_equal(flags_parse(&flags, accepted, arguments, &err),
		-EINVAL);
	assert_string_equal(err.text,
		"invalid argument \"a/b\" for \"-n, --namespace\" flag: it is "
		"no name");
	assert_null(flags.namespace);
	flags_fini(&flags);
}

static void a_flag_is_completed_if_the_command_takes_it(void **state)
{
	scoped_buffer struct buffer some = BUFFER_MAX(65536);
	scoped_buffer struct buffer none = BUFFER_MAX(65536);
	scoped_buffer struct buffer all = BUFFER_MAX(65536);

	(void)state;
	flags_complete(&some, accepted, "li");
	assert_string_equal(some.data, "--limit\n");
	flags_complete(&none, 0, "li");
	assert_int_equal(none.len, 0);
	flags_complete(&none, accepted, "y");
	assert_int_equal(none.len, 0);
	flags_complete(&all, accepted, "");
	assert_non_null(strstr(all.data, "--output\n"));
	assert_non_null(strstr(all.data, "--context\n"));
	assert_non_null(strstr(all.data, "--namespace\n"));
	assert_null(strstr(all.data, "--yes\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_help_names_the_accepted_flags_alone),
		cmocka_unit_test(reads_each_form_of_a_flag),
		cmocka_unit_test(mistakes_have_pflags_words),
		cmocka_unit_test(numbers_have_bounds),
		cmocka_unit_test(finds_the_command_behind_global_flags),
		cmocka_unit_test(a_flood_of_arguments_is_refused),
		cmocka_unit_test(help_is_asked_for_in_each_form),
		cmocka_unit_test(the_value_of_a_letter_may_follow_it),
		cmocka_unit_test(a_namespace_is_a_name),
		cmocka_unit_test(a_flag_is_completed_if_the_command_takes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
