#include "lib/address.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

static void a_port_is_a_number_of_16_bits(void **state)
{
	static const char *const good[] = { ":0", "a:1", "1.2.3.4:65535",
		"[::1]:80" };
	static const char *const bad[] = { "", "a", ":", "a:", "a:65536",
		"a:-1", "a:1x", "a:99999999999", "a: 1" };

	(void)state;
	for (size_t i = 0; i < count_of(good); i++) {
		assert_true(address_has_port(good[i]));
	}
	for (size_t i = 0; i < count_of(bad); i++) {
		assert_false(address_has_port(bad[i]));
	}
}

static void a_host_is_an_address_or_empty(void **state)
{
	static const struct {
		const char *address, *host; /* NULL: it is none */
	} cases[] = {
		{ ":80", "" },
		{ "127.0.0.1:80", "127.0.0.1" },
		{ "[::1]:80", "::1" },
		{ "[fe80::1]:0", "fe80::1" },
		{ "localhost:80", NULL },
		{ "127.0.0.1", NULL },
		{ "127.0.0.256:80", NULL },
		{ "[127.0.0.1]:80", NULL },
		{ "[]:80", NULL },
		{ "[::1:80", NULL },
		{ "::1:80", NULL },
		{ "0000000000000000000000000000000000000000000000000000000000"
		  "000000:80",
			NULL },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		char host[ADDRESS_HOST_MAX];
		bool is_split = address_split(host, cases[i].address);

		assert_int_equal(is_split, cases[i].host != NULL);
		assert_string_equal(is_split ? host : "",
			is_split ? cases[i].host : "");
	}
}

static void a_loopback_address_is_one_of_this_machine(void **state)
{
	static const char *const own[] = { "127.0.0.1:80", "127.255.0.9:1",
		"[::1]:80" };
	static const char *const others[] = { ":80", "128.0.0.1:80",
		"126.0.0.1:80", "0.0.0.0:80", "[::]:80", "[::2]:80",
		"localhost:80", "127.0.0.1" };

	(void)state;
	for (size_t i = 0; i < count_of(own); i++) {
		assert_true(address_is_loopback(own[i]));
	}
	for (size_t i = 0; i < count_of(others); i++) {
		assert_false(address_is_loopback(others[i]));
	}
}

static void a_url_has_a_scheme_of_tcp_and_a_port(void **state)
{
	static const struct {
		const char *url;
		bool is_listener, is_peer;
	} cases[] = {
		{ "tcp://a:1", true, true },
		{ "tls+tcp://a:1", true, true },
		{ "tcp://:1", true, false },
		{ "tls+tcp://:1", true, false },
		{ "tcp://a", false, false },
		{ "udp://a:1", false, false },
		{ "tls+udp://a:1", false, false },
		{ "a:1", false, false },
		{ "", false, false },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct error err = { 0 };

		assert_int_equal(address_check_url(cases[i].url, false, &err),
			cases[i].is_listener ? 0 : -EINVAL);
		assert_int_equal(address_check_url(cases[i].url, true, &err),
			cases[i].is_peer ? 0 : -EINVAL);
		assert_true(cases[i].is_peer ||
			strstr(err.text, cases[i].url) != NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_is_a_number_of_16_bits),
		cmocka_unit_test(a_host_is_an_address_or_empty),
		cmocka_unit_test(a_loopback_address_is_one_of_this_machine),
		cmocka_unit_test(a_url_has_a_scheme_of_tcp_and_a_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
