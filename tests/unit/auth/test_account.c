#include "auth/account.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

static void repeats_groups_and_gathers_the_values_of_a_key(void **state)
{
	static const char *const groups[] = { "system:authenticated", "a\"b" };
	static const struct account_extra extra[] = {
		{ "scopes", "read" },
		{ "example.org/team", "\xff" },
		{ "scopes", "write" },
	};
	struct account account = { 0 };

	(void)state;
	assert_int_equal(account_make(&account,
				 &(struct account_names){ .user = "jane",
					 .uid = "42",
					 .groups = groups,
					 .group_count = count_of(groups),
					 .extra = extra,
					 .extra_count = count_of(extra) },
				 NULL),
		0);
	assert_string_equal(account.user, "jane");
	assert_string_equal(account.uid, "42");
	assert_string_equal(account.groups,
		"[\"system:authenticated\",\"a\\\"b\"]");
	assert_string_equal(account.extra,
		"{\"scopes\":[\"read\",\"write\"],"
		"\"example.org/team\":[\"\xef\xbf\xbd\"]}");
	assert_null(account.node);
	account_fini(&account);
}

static void a_name_alone_is_an_account(void **state)
{
	struct account account = { 0 };

	(void)state;
	assert_int_equal(
		account_make(&account,
			&(struct account_names){ .user = "jane" }, NULL),
		0);
	assert_null(account.uid);
	assert_string_equal(account.groups, "[]");
	assert_string_equal(account.extra, "{}");
	account_fini(&account);
}

static void refuses_an_account_above_a_limit(void **state)
{
	static const char *groups[ACCOUNT_GROUPS_MAX + 1];
	static struct account_extra extra[ACCOUNT_EXTRA_MAX + 1];
	scoped_free char *large = xcalloc(ACCOUNT_BYTES_MAX + 1, 1);
	const struct account_names cases[] = {
		{ .user = "jane",
			.groups = groups,
			.group_count = count_of(groups) },
		{ .user = "jane",
			.extra = extra,
			.extra_count = count_of(extra) },
		{ .user = "jane",
			.groups = (const char *const *)&large,
			.group_count = 1 },
	};
	struct account account = { 0 };
	struct error err = { 0 };

	(void)state;
	memset(large, 'x', ACCOUNT_BYTES_MAX);
	for (size_t i = 0; i < count_of(groups); i++) {
		groups[i] = "g";
	}
	for (size_t i = 0; i < count_of(extra); i++) {
		extra[i] = (struct account_extra){ "k", "v" };
	}
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(account_make(&account, &cases[i], &err),
			-E2BIG);
		assert_non_null(strstr(err.text, "user \"jane\""));
		assert_null(account.user);
	}
}

static void service_accounts_of_a_namespace_are_one_peer(void **state)
{
	static const char *const peers[][2] = {
		{ "system:serviceaccount:shop:web",
			"system:serviceaccounts:shop" },
		{ "system:serviceaccount:shop:db",
			"system:serviceaccounts:shop" },
		{ "system:serviceaccount:bank:db",
			"system:serviceaccounts:bank" },
		{ "system:node:a", "system:node:a" },
		{ "jane", "jane" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(peers); i++) {
		scoped_free char *peer = account_peer(peers[i][0]);

		assert_string_equal(peer, peers[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			repeats_groups_and_gathers_the_values_of_a_key),
		cmocka_unit_test(a_name_alone_is_an_account),
		cmocka_unit_test(refuses_an_account_above_a_limit),
		cmocka_unit_test(service_accounts_of_a_namespace_are_one_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
