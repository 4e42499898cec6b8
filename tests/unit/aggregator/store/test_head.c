#include "aggregator/store/head.h"

#include "tests/unit/aggregator/store/fixture.h"

static void each_seq_is_stored_once_in_any_order(void **state)
{
	struct fixture *f = *state;
	uint64_t seq = 1;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 101; i++) {
			seq = (seq + 37) % 101;
			fixture_add_at(f, seq + 1, f->now_ms);
		}
	}
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM tail"), 101);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM seqs"), 1);
	assert_int_equal(fixture_number(f, "SELECT last FROM seqs"), 101);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(each_seq_is_stored_once_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
