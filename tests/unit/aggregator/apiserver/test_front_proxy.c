#include "aggregator/apiserver/front_proxy.h"

#include "kube/json_value.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

#define SETTINGS(names)                                                        \
	"{\"data\":{\"requestheader-client-ca-file\":\"PEM\","                 \
	"\"requestheader-allowed-names\":\"" names                             \
	"\","                                                                  \
	"\"requestheader-username-headers\":\"[\\\"X-Remote-User\\\"]\","      \
	"\"requestheader-group-headers\":\"[\\\"X-Remote-Group\\\"]\","        \
	"\"requestheader-uid-headers\":\"[\\\"X-Remote-Uid\\\"]\","            \
	"\"requestheader-extra-headers-prefix\":"                              \
	"\"[\\\"X-Remote-Extra-\\\"]\"}}"

static int read(struct front_proxy **out, const char *text)
{
	struct json_value *value;
	int r;

	assert_int_equal(json_value_parse(&value, text, strlen(text), NULL), 0);
	r = front_proxy_read(out, value, NULL);
	json_value_free(value);
	return r;
}

static struct front_proxy *usual(void)
{
	struct front_proxy *proxy;

	assert_int_equal(read(&proxy, SETTINGS("[\\\"proxy\\\",\\\"b\\\"]")),
		0);
	return proxy;
}

/* Reads a header that names anna, with a certificate of this name. */
static int ask(const struct front_proxy *proxy, const char *certificate,
	struct error *err)
{
	static const struct front_proxy_header header = { "X-Remote-User",
		"anna" };
	struct account account;
	int r = front_proxy_account(&account, proxy, certificate, &header, 1,
		err);

	if (r == 0) {
		assert_string_equal(account.user, "anna");
		account_fini(&account);
	}
	return r;
}

static void only_the_named_certificates_are_the_proxys(void **state)
{
	struct front_proxy *proxy = usual();
	struct error err;

	(void)state;
	assert_string_equal(front_proxy_ca(proxy), "PEM");
	assert_int_equal(ask(proxy, "proxy", NULL), 0);
	assert_int_equal(ask(proxy, "b", NULL), 0);
	assert_int_equal(ask(proxy, "Proxy", &err), -EACCES);
	assert_string_equal(err.text,
		"'Proxy' is not the name of a front proxy");
	assert_int_equal(ask(proxy, "", &err), -EACCES);
	front_proxy_free(proxy);
}

static void an_empty_list_of_names_admits_nobody(void **state)
{
	static const char *const empty[] = { SETTINGS("[]"), SETTINGS("") };
	struct front_proxy *proxy;
	struct error err;

	(void)state;
	for (size_t i = 0; i < count_of(empty); i++) {
		assert_int_equal(read(&proxy, empty[i]), 0);
		assert_int_equal(ask(proxy, "x", &err), -EACCES);
		assert_non_null(strstr(err.text, "empty list"));
		front_proxy_free(proxy);
	}
}

static void settings_that_cannot_be_used_are_refused(void **state)
{
	static const char *const texts[] = { "{}", "{\"data\":{}}",
		"{\"data\":{\"requestheader-client-ca-file\":\"\"}}",
		"{\"data\":{\"requestheader-client-ca-file\":\"x\"}}",
		SETTINGS("x"), SETTINGS("[1]"), SETTINGS("[\\\"\\\"]"),
		SETTINGS("{}") };
	struct front_proxy *proxy = NULL;

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		assert_int_equal(read(&proxy, texts[i]), -EINVAL);
	}
	assert_null(proxy);
}

static void headers_name_the_user_with_groups_uid_and_extra(void **state)
{
	static const struct front_proxy_header headers[] = {
		{ "Host", "x" },
		{ "x-remote-user", "anna" },
		{ "X-Remote-User", "other" },
		{ "X-Remote-Group", "g1" },
		{ "X-Remote-Group", "g,2" },
		{ "X-Remote-Uid", "u1" },
		{ "X-Remote-Extra-Scopes", "a" },
		{ "X-Remote-Extra-Scopes", "b" },
		{ "X-Remote-Extra-Example.com%2fKey%", "c" },
		{ "X-Remote-Extra-", "without a key" },
	};
	struct front_proxy *proxy = usual();
	struct account account;

	(void)state;
	assert_int_equal(front_proxy_account(&account, proxy, "proxy", headers,
				 count_of(headers), NULL),
		0);
	assert_string_equal(account.user, "anna");
	assert_string_equal(account.uid, "u1");
	assert_string_equal(account.groups, "[\"g1\",\"g,2\"]");
	assert_string_equal(account.extra,
		"{\"scopes\":[\"a\",\"b\"],\"example.com/key%\":[\"c\"]}");
	account_fini(&account);
	front_proxy_free(proxy);
}

static void without_a_user_nobody_asks(void **state)
{
	static const struct front_proxy_header headers[] = {
		{ "X-Remote-Group", "system:masters" },
		{ "X-Remote-User", "" },
		{ "X-Forwarded-User", "admin" },
	};
	struct front_proxy *proxy = usual();
	struct account account;
	struct error err;

	(void)state;
	assert_int_equal(front_proxy_account(&account, proxy, "proxy", headers,
				 count_of(headers), &err),
		-EACCES);
	assert_string_equal(err.text, "the front proxy names no user");
	front_proxy_free(proxy);
}

static void too_many_groups_are_refused(void **state)
{
	struct front_proxy_header headers[ACCOUNT_GROUPS_MAX + 2] = {
		{ "X-Remote-User", "anna" }
	};
	struct front_proxy *proxy = usual();
	struct account account;

	(void)state;
	for (size_t i = 1; i < count_of(headers); i++) {
		headers[i] =
			(struct front_proxy_header){ "X-Remote-Group", "g" };
	}
	assert_int_equal(front_proxy_account(&account, proxy, "proxy", headers,
				 count_of(headers), NULL),
		-E2BIG);
	front_proxy_free(proxy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_named_certificates_are_the_proxys),
		cmocka_unit_test(an_empty_list_of_names_admits_nobody),
		cmocka_unit_test(settings_that_cannot_be_used_are_refused),
		cmocka_unit_test(
			headers_name_the_user_with_groups_uid_and_extra),
		cmocka_unit_test(without_a_user_nobody_asks),
		cmocka_unit_test(too_many_groups_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
