#include "kubectl/table.h"

#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

static void columns_are_three_blanks_apart(void **state)
{
	static const char *const headers[] = { "NAME", "CPU", "AGE", NULL };
	scoped_buffer struct buffer out = BUFFER_MAX(1000);
	struct table table;

	(void)state;
	table_init(&table, headers);
	table_cell(&table, "a-long-name");
	table_cell(&table, "");
	table_cell(&table, "1s");
	table_cell(&table, "caf\xc3\xa9");
	table_cell(&table, NULL);
	table_cell(&table, "a\nb");
	table_write(&out, &table, true);
	assert_string_equal(out.data,
		"NAME          CPU   AGE\n"
		"a-long-name   -     1s\n"
		"caf\xc3\xa9          -     a\\nb\n");
	buffer_clear(&out);
	table_write(&out, &table, false);
	assert_string_equal(out.data,
		"a-long-name   -   1s\n"
		"caf\xc3\xa9          -   a\\nb\n");
	table_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_three_blanks_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
