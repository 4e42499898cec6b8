/* Amounts with units: durations and sizes. */
#include "lib/address.h"
#include "lib/options.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

struct config {
	uint64_t bytes;
};

static const struct option table[] = {
	{ .name = "size",
		.placeholder = "SIZE",
		.type = OPTION_BYTES,
		.offset = offsetof(struct config, bytes),
		.help = "how much" },
	{ .name = NULL },
};

/* Parses --size=...; *bytes is unchanged on failure. */
static int parse_size(uint64_t *bytes, char *flag, struct error *err)
{
	static const struct options_program program = { .name = "plimsoll-test",
		.table = table };
	char *argv[] = { "plimsoll-test", flag, NULL };
	struct config config = { *bytes };
	enum options_outcome outcome;
	int r = options_parse(&config, &outcome, NULL, &program, argv, err);

	*bytes = config.bytes;
	return r;
}

static void parses_durations_as_go_writes_them(void **state)
{
	static const struct {
		const char *text;
		uint64_t us;
	} cases[] = {
		{ "0", 0 },
		{ "0s", 0 },
		{ "1us", 1 },
		{ "250ms", 250000 },
		{ "2s", 2000000 },
		{ "1.5s", 1500000 },
		{ ".5s", 500000 },
		{ "90m", 5400000000 },
		{ "1h30m", 5400000000 },
		{ "1h30m5s20ms", 5405020000 },
		{ "7d", 604800000000 },
		{ "1d12h", 129600000000 },
		{ "0.0001ms", 0 },
		{ "36500d", 3153600000000000 },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		uint64_t us = 99;

		assert_int_equal(options_duration(&us, cases[i].text, NULL), 0);
		assert_int_equal(us, cases[i].us);
	}
}

static void must_be_refused(const char *text, int code)
{
	if (code != -EINVAL) {
		fail_msg("'%s' was accepted", text);
	}
}

static void refuses_invalid_durations(void **state)
{
	static const char *const cases[] = { "", "2", "s", "-2s", "+2s", "2 s",
		" 2s", "2s ", "2sec", "1h30", "2S", "2x", ".s", ".", "1.2.3s",
		"1..s", "1,5s", "1e3s", "0x10s", "0x1d", "nan", "infs", "00",
		"2s,", "h1" };
	struct error err = { 0 };
	uint64_t us = 99;

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		must_be_refused(cases[i],
			options_duration(&us, cases[i], &err));
		assert_non_null(strstr(err.text, "is not a duration"));
	}
	assert_int_equal(options_duration(&us, "300000000d", &err), -ERANGE);
	assert_string_equal(err.text, "'300000000d' is too long");
	assert_int_equal(us, 99);
}

static void parses_decimal_and_binary_units(void **state)
{
	static const struct {
		char *flag;
		uint64_t bytes;
	} cases[] = {
		{ "--size=0", 0 },
		{ "--size=1024", 1024 },
		{ "--size=2048B", 2048 },
		{ "--size=2kB", 2000 },
		{ "--size=2KiB", 2048 },
		{ "--size=100MB", 100000000 },
		{ "--size=1.5MiB", 1572864 },
		{ "--size=40GiB", 42949672960 },
		{ "--size=7GB", 7000000000 },
		{ "--size=0.5TiB", 549755813888 },
		{ "--size=1TB", 1000000000000 },
		{ "--size=.5kB", 500 },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		uint64_t bytes = 99;

		assert_int_equal(parse_size(&bytes, cases[i].flag, NULL), 0);
		assert_int_equal(bytes, cases[i].bytes);
	}
}

static void refuses_invalid_sizes(void **state)
{
	static char *const cases[] = { "--size=", "--size=-1024", "--size=2K",
		"--size=2kb", "--size=2 kB", "--size=2GBx", "--size=2GB1kB",
		"--size=.", "--size=GB", "--size=1e6", "--size=0x1000",
		"--size=1.2.3", "--size=99999999TB" };
	uint64_t bytes = 99;
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		must_be_refused(cases[i], parse_size(&bytes, cases[i], &err));
		assert_non_null(strstr(err.text, "is not a size"));
	}
	assert_int_equal(bytes, 99);
}

static void ports_have_sixteen_bits(void **state)
{
	static const char *const good[] = { "a:0", "127.0.0.1:7474",
		"[::1]:65535", "tcp://a:00080", ":1" };
	static const char *const bad[] = { "", "7474", "a:", "a:x", "a:1x",
		"a:-1", "a:+1", "a: 1", "a:65536", "a:4294967297",
		"a:18446744073709551617" };

	(void)state;
	for (size_t i = 0; i < count_of(good); i++) {
		assert_true(address_has_port(good[i]));
	}
	for (size_t i = 0; i < count_of(bad); i++) {
		assert_false(address_has_port(bad[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_have_sixteen_bits),
		cmocka_unit_test(parses_durations_as_go_writes_them),
		cmocka_unit_test(refuses_invalid_durations),
		cmocka_unit_test(parses_decimal_and_binary_units),
		cmocka_unit_test(refuses_invalid_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
