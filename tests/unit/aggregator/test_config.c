#include "aggregator/config.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int check(const char *const *flags, struct error *err)
{
	struct aggregator_config config = { 0 };
	enum options_outcome outcome;
	char *argv[10] = { NULL };
	size_t count = 1;
	int r;

	argv[0] = xstrdup("plimsoll-aggregator");
	for (; *flags != NULL; flags++) {
		argv[count++] = xstrdup(*flags);
	}
	r = options_parse(&config, &outcome, NULL, &aggregator_options, argv,
		err);
	if (r == 0) {
		r = aggregator_config_check(&config, err);
	}
	for (size_t i = 0; i < count; i++) {
		free(argv[i]);
	}
	return r;
}

static void assert_checked(const char *const *flags, int code, const char *word)
{
	struct error err = { 0 };
	int r = check(flags, &err);

	if (r != code || strstr(err.text, word) == NULL) {
		fail_msg("%s: %d '%s'", flags[0], r, err.text);
	}
}

static void accepts_valid_combinations_of_flags(void **state)
{
	static const char *const cases[][8] = {
		{ "--log-level=info", NULL },
		{ "--listen=tls+tcp://0.0.0.0:1", "--tls-cert=c", "--tls-key=k",
			NULL },
		{ "--listen=tls+tcp://0.0.0.0:1", "--tls-cert=c", "--tls-key=k",
			"--tls-ca=a", "--wire-auth=kubernetes", NULL },
		{ "--http-tls-cert=c", "--http-tls-key=k",
			"--http-auth=kubernetes", NULL },
		{ "--remote-write=http://a/b", "--max-db-size=0", NULL },
		{ "--remote-write=http://a/b", "--max-db-size=4GiB", NULL },
		{ "--max-db-size=1GiB", NULL },
		{ "--http=127.0.0.1:7474", "--http-auth=kubernetes", NULL },
		{ "--http=127.9.9.9:7474", "--http-auth=kubernetes", NULL },
		{ "--http=[::1]:7474", "--http-auth=kubernetes", NULL },
		{ "--api=0.0.0.0:7478", "--api-tls-cert=c", "--api-tls-key=k",
			NULL },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_checked(cases[i], 0, "");
	}
}

static void rejects_invalid_combinations_of_flags(void **state)
{
	static const struct {
		const char *flags[6];
		const char *word;
	} cases[] = {
		{ { "--wire-auth=kubernetes", NULL }, "tokens require TLS" },
		{ { "--wire-auth=some", NULL }, "none" },
		{ { "--listen=tls+tcp://0.0.0.0:1", NULL }, "--tls-cert" },
		{ { "--listen=tls+tcp://0.0.0.0:1", "--tls-cert=c", NULL },
			"require each other" },
		{ { "--tls-cert=c", "--tls-key=k", NULL },
			"require tls+tcp://" },
		{ { "--tls-ca=a", NULL }, "require tls+tcp://" },
		{ { "--http-tls-key=k", NULL }, "--http-tls-cert" },
		{ { "--http-auth=kubernetes", NULL }, "tokens require TLS" },
		{ { "--http-auth=kubernetes", "--http=126.0.0.1:1", NULL },
			"tokens require TLS" },
		{ { "--http-auth=kubernetes", "--http=128.0.0.1:1", NULL },
			"tokens require TLS" },
		{ { "--http-auth=kubernetes", "--http=:1", NULL },
			"tokens require TLS" },
		{ { "--listen=foo", NULL }, "tcp://HOST:PORT" },
		{ { "--http-auth=kubernetes", "--http=[::]:1", NULL },
			"tokens require TLS" },
		{ { "--remote-write=http://a/b", "--max-db-size=3GiB", NULL },
			"--remote-write-queue" },
		{ { "--remote-write-label=a=b", NULL },
			"--remote-write is missing" },
		{ { "--remote-write=a", NULL }, "URL" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_checked(cases[i].flags, -EINVAL, cases[i].word);
	}
}

static void needs_the_api_server_for_access_reviews_only(void **state)
{
	struct aggregator_config config = { 0 };

	(void)state;
	assert_false(aggregator_config_needs_api(&config));
	config.wire_auth = AUTH_KUBERNETES;
	assert_true(aggregator_config_needs_api(&config));
	config.wire_auth = AUTH_NONE;
	config.http_auth = AUTH_KUBERNETES;
	assert_true(aggregator_config_needs_api(&config));
	config.http_auth = AUTH_NONE;
	config.api = "127.0.0.1:7478";
	assert_true(aggregator_config_needs_api(&config));
}

static void the_kubernetes_api_needs_a_certificate(void **state)
{
	static const char *const without[] = { "--api=:7478", NULL };
	static const char *const half[] = { "--api=:7478", "--api-tls-cert=c",
		NULL };
	static const char *const alone[] = { "--api-tls-cert=c",
		"--api-tls-key=k", NULL };

	(void)state;
	assert_checked(without, -EINVAL, "requires --api-tls-cert");
	assert_checked(half, -EINVAL, "requires --api-tls-cert");
	assert_checked(alone, -EINVAL, "require --api");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts_valid_combinations_of_flags),
		cmocka_unit_test(rejects_invalid_combinations_of_flags),
		cmocka_unit_test(needs_the_api_server_for_access_reviews_only),
		cmocka_unit_test(the_kubernetes_api_needs_a_certificate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
