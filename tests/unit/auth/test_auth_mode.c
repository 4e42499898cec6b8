#include "auth/auth_mode.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

static const struct tls_files none = { NULL };
static const struct tls_files pair = { .cert = "c", .key = "k" };
static const struct tls_files half = { .key = "k" };

struct flags {
	const char *address;
	const struct tls_files *tls;
	int mode;
	const char *refusal; /* "": accepted */
};

static void assert_checked(const struct flags *flags)
{
	struct error err = { 0 };
	int r = auth_mode_check_http(flags->address, flags->tls, flags->mode,
		&err);

	assert_int_equal(r, flags->refusal[0] == '\0' ? 0 : -EINVAL);
	if (strstr(err.text, flags->refusal) == NULL) {
		fail_msg("%s: '%s'", flags->address, err.text);
	}
}

static void tokens_need_tls_or_a_loopback_address(void **state)
{
	static const struct flags cases[] = {
		{ "0.0.0.0:1", &none, AUTH_NONE, "" },
		{ "0.0.0.0:1", &pair, AUTH_KUBERNETES, "" },
		{ "127.0.0.1:1", &none, AUTH_KUBERNETES, "" },
		{ "127.9.9.9:1", &none, AUTH_KUBERNETES, "" },
		{ "[::1]:1", &none, AUTH_KUBERNETES, "" },
		{ "0.0.0.0:1", &none, AUTH_KUBERNETES, "tokens require TLS" },
		{ ":1", &none, AUTH_KUBERNETES, "tokens require TLS" },
		{ "[::]:1", &none, AUTH_KUBERNETES, "tokens require TLS" },
		{ "128.0.0.1:1", &none, AUTH_KUBERNETES, "'128.0.0.1:1'" },
		{ "127.0.0.1:1", &half, AUTH_NONE, "require each other" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_checked(&cases[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_need_tls_or_a_loopback_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
