#include "scheduler/launcher/launcher_derivation.h"

#include "tests/support/cm.h"

static void a_note_is_kept_once_and_in_order(void **state)
{
	static const char first[] = "first", second[] = "second";
	struct derivation d = { 0 };

	(void)state;
	derivation_note(&d, first);
	derivation_note(&d, first);
	derivation_note(&d, second);
	derivation_note(&d, first);
	derivation_note(&d, second);
	assert_int_equal(d.note_count, 2);
	assert_ptr_equal(d.notes[0], first);
	assert_ptr_equal(d.notes[1], second);
}

static void there_are_only_so_many_notes(void **state)
{
	static const char texts[DERIVATION_NOTES_MAX + 1];
	struct derivation d = { 0 };

	(void)state;
	for (int i = 0; i <= DERIVATION_NOTES_MAX; i++) {
		derivation_note(&d, &texts[i]);
	}
	assert_int_equal(d.note_count, DERIVATION_NOTES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_note_is_kept_once_and_in_order),
		cmocka_unit_test(there_are_only_so_many_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
