#include "scheduler/certificates/config.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

static int check(const char *dns_name, struct error *err)
{
	struct certificates_config config = { 0 };

	config.namespace_name = "plimsoll";
	config.agents_namespace = "plimsoll-agents";
	config.dns_names.items[0] = "plain.example.com";
	config.dns_names.items[1] = dns_name;
	config.dns_names.count = 2;
	return certificates_config_check(&config, err);
}

static void names_of_dns_are_accepted(void **state)
{
	static const char *const good[] = { "localhost", "*.example.com",
		"10.example.com", "a-1.b2", "4you" };

	(void)state;
	for (size_t i = 0; i < count_of(good); i++) {
		assert_int_equal(check(good[i], NULL), 0);
	}
}

static void addresses_are_refused(void **state)
{
	static const char *const bad[] = { "10.0.0.5", "127.1", "10", "a.1" };
	struct error err;

	(void)state;
	for (size_t i = 0; i < count_of(bad); i++) {
		assert_int_equal(check(bad[i], &err), -EINVAL);
		assert_non_null(strstr(err.text, bad[i]));
		assert_non_null(
			strstr(err.text, "is an address, not a DNS name"));
	}
	assert_int_equal(check("fd00::1", &err), -EINVAL);
	assert_string_equal(err.text,
		"--dns-name: 'fd00::1' is not a DNS name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_dns_are_accepted),
		cmocka_unit_test(addresses_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
