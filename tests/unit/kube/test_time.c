#include "kube/time.h"

#include <errno.h>

#include "tests/unit/scheduler/given.h"

static void reads_rfc_3339(void **state)
{
	static const struct {
		const char *text;
		int64_t us;
	} cases[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2026-11-20T10:46:52Z", INT64_C(1795171612000000) },
		{ "2026-11-20T10:46:52.5Z", INT64_C(1795171612500000) },
		{ "2026-11-20T10:46:52.1234567Z", INT64_C(1795171612123456) },
		{ "2026-11-20T11:46:52+01:00", INT64_C(1795171612000000) },
		{ "2026-11-20T05:16:52-05:30", INT64_C(1795171612000000) },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		int64_t us = -1;

		assert_int_equal(time_parse(&us, cases[i].text, NULL), 0);
		assert_true(us == cases[i].us);
	}
}

static const char *const other_texts[] = { "", "yesterday", "2026-11-20",
	"2026-11-20T10:46:52", "2026-11-20T10:46:52.Z", "2026-11-20T10:46:52+1",
	"2026-11-20T10:46:52+01:75", "2026-11-20T10:46:52Zx",
	" 2026-11-20T10:46:52Z" };

static void rejects_other_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(other_texts); i++) {
		int64_t us = 7;

		given_check(time_parse(&us, other_texts[i], NULL) == -EBADMSG,
			other_texts[i]);
		assert_true(us == 7);
	}
}

static void reads_seconds_of_unix_time(void **state)
{
	static const struct {
		const char *text;
		uint64_t us;
	} cases[] = {
		{ "0", 0 },
		{ "1795171612", UINT64_C(1795171612000000) },
		{ "1795171612.25", UINT64_C(1795171612250000) },
		{ "7.0000019", 7000001 },
	};
	static const char *const bad[] = { "", "-1", "1.", ".5", "1.5s", "1,5",
		" 1", "99999999999999999999" };
	uint64_t us = 7;

	(void)state;
	for (size_t i = 0; i < count_of(bad); i++) {
		given_check(!time_parse_seconds(&us, bad[i]), bad[i]);
		assert_true(us == 7);
	}
	for (size_t i = 0; i < count_of(cases); i++) {
		given_check(time_parse_seconds(&us, cases[i].text),
			cases[i].text);
		assert_true(us == cases[i].us);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_rfc_3339),
		cmocka_unit_test(rejects_other_texts),
		cmocka_unit_test(reads_seconds_of_unix_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
