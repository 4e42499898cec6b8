#include "scheduler/mover/mover_status.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

static void without_a_mover_all_modes_are_off_and_the_flag_is_why(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1024);

	(void)state;
	mover_status_write_off(&out);
	assert_string_equal(out.data,
		"{\"mode\":\"off\",\"effective_mode\":\"off\","
		"\"make_room\":\"off\",\"why\":\"--rebalance is off\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			without_a_mover_all_modes_are_off_and_the_flag_is_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
