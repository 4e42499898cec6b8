#include "kube/label_syntax.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <string.h>

struct row {
	const char *text;
	bool is_valid;
};

static void expect_row(const struct row *row, bool is_valid)
{
	if (is_valid != row->is_valid) {
		fail_msg("'%s'", row->text);
	}
}

static void expect(const struct row *rows, size_t count,
	bool (*is_valid)(const char *text))
{
	for (size_t i = 0; i < count; i++) {
		expect_row(&rows[i], is_valid(rows[i].text));
	}
}

#define LETTERS_63                                                             \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void a_key_is_a_name_with_or_without_a_domain(void **state)
{
	static const struct row rows[] = { { "app", true }, { "A_b.c-9", true },
		{ "example.com/app", true }, { "9/9", true },
		{ LETTERS_63, true }, { LETTERS_63 "a", false }, { "", false },
		{ "-a", false }, { "a-", false }, { "a b", false },
		{ "a/b/c", false }, { "/a", false }, { "a/", false },
		{ "Example.com/a", false }, { "a..b/c", false },
		{ "a_b/c", false }, { "a\n", false }, { "\xc3\xa4", false } };

	(void)state;
	expect(rows, count_of(rows), label_syntax_is_key);
}

static void a_value_may_be_empty_and_has_no_domain(void **state)
{
	static const struct row rows[] = { { "", true }, { "a", true },
		{ "A_b.c-9", true }, { LETTERS_63, true },
		{ LETTERS_63 "a", false }, { "a/b", false }, { ".a", false },
		{ "a_", false } };

	(void)state;
	expect(rows, count_of(rows), label_syntax_is_value);
}

static void names_are_of_dns(void **state)
{
	static const struct row labels[] = { { "shop", true }, { "9-a", true },
		{ LETTERS_63, true }, { LETTERS_63 "a", false }, { "", false },
		{ "a.b", false }, { "A", false }, { "-a", false },
		{ "a-", false } };
	static const struct row subdomains[] = { { "a.b.c", true },
		{ "node-1", true }, { "", false }, { "a.", false },
		{ ".a", false }, { "a_b", false } };
	char longest[255];

	(void)state;
	expect(labels, count_of(labels), label_syntax_is_dns_label);
	expect(subdomains, count_of(subdomains), label_syntax_is_dns_subdomain);
	memset(longest, 'a', sizeof(longest));
	longest[253] = '\0';
	assert_true(label_syntax_is_dns_subdomain(longest));
	longest[253] = 'a';
	longest[254] = '\0';
	assert_false(label_syntax_is_dns_subdomain(longest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_a_name_with_or_without_a_domain),
		cmocka_unit_test(a_value_may_be_empty_and_has_no_domain),
		cmocka_unit_test(names_are_of_dns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
