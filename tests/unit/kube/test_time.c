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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_rfc_3339),
		cmocka_unit_test(rejects_other_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
