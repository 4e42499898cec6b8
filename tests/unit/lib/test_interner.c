#include "lib/interner.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

static void gives_equal_strings_the_same_id(void **state)
{
	struct interner *interner = interner_new();
	uint32_t a = interner_hold(interner, "a");
	uint32_t empty = interner_hold(interner, "");

	(void)state;
	assert_int_not_equal(a, 0);
	assert_int_not_equal(empty, 0);
	assert_int_not_equal(a, empty);
	assert_int_equal(interner_hold(interner, "a"), a);
	assert_string_equal(interner_text(interner, a), "a");
	interner_drop(interner, a);
	interner_drop(interner, a);
	interner_drop(interner, empty);
	interner_free(interner);
}

static void frees_a_string_with_its_last_reference(void **state)
{
	struct interner *interner = interner_new();
	uint32_t a = interner_hold(interner, "a"), b;

	(void)state;
	(void)interner_hold(interner, "a");
	interner_drop(interner, a);
	assert_string_equal(interner_text(interner, a), "a");
	interner_drop(interner, a);
	assert_int_equal(interner_hold(interner, "b"), a);
	b = a;
	assert_string_equal(interner_text(interner, b), "b");
	a = interner_hold(interner, "a");
	assert_int_not_equal(a, b);
	interner_drop(interner, 0);
	interner_drop(interner, a);
	interner_drop(interner, b);
	interner_free(interner);
	interner_free(NULL);
}

static void a_string_is_found_without_a_reference(void **state)
{
	struct interner *interner = interner_new();
	uint32_t a = interner_hold(interner, "a");

	(void)state;
	assert_int_equal(interner_find(interner, "a"), a);
	assert_int_equal(interner_find(interner, "b"), 0);
	interner_drop(interner, a);
	assert_int_equal(interner_find(interner, "a"), 0);
	interner_free(interner);
}

static void an_id_may_be_held_again(void **state)
{
	struct interner *interner = interner_new();
	uint32_t a = interner_hold(interner, "a");

	(void)state;
	interner_hold_id(interner, a);
	interner_hold_id(interner, 0);
	interner_drop(interner, a);
	assert_string_equal(interner_text(interner, a), "a");
	interner_drop(interner, a);
	interner_free(interner);
}

struct user {
	struct interner *interner;
	uint32_t kept;
	uv_barrier_t *start;
	unsigned wrong;
};

/* Ids come and go, so that the list of entries grows and moves. */
static void use(void *arg)
{
	struct user *user = arg;
	uint32_t ids[64];
	char text[16];

	(void)uv_barrier_wait(user->start);
	for (unsigned i = 0; i < 64000; i++) {
		uint32_t *id = &ids[i % 64];

		if (i >= 64) {
			interner_drop(user->interner, *id);
		}
		(void)snprintf(text, sizeof(text), "%u", i % 997);
		*id = interner_hold(user->interner, text);
		user->wrong +=
			strcmp(interner_text(user->interner, *id), text) != 0;
		user->wrong += strcmp(interner_text(user->interner, user->kept),
				       "kept") != 0;
	}
	for (unsigned i = 0; i < 64; i++) {
		interner_drop(user->interner, ids[i]);
	}
}

static void two_threads_may_use_it(void **state)
{
	struct interner *interner = interner_new();
	uint32_t kept = interner_hold(interner, "kept");
	uv_barrier_t both;
	struct user users[2] = { { interner, kept, &both, 0 },
		{ interner, kept, &both, 0 } };
	uv_thread_t thread;

	(void)state;
	assert_int_equal(uv_barrier_init(&both, 2), 0);
	assert_int_equal(uv_thread_create(&thread, use, &users[0]), 0);
	use(&users[1]);
	assert_int_equal(uv_thread_join(&thread), 0);
	uv_barrier_destroy(&both);
	assert_int_equal(users[0].wrong + users[1].wrong, 0);
	interner_drop(interner, kept);
	interner_free(interner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_equal_strings_the_same_id),
		cmocka_unit_test(frees_a_string_with_its_last_reference),
		cmocka_unit_test(a_string_is_found_without_a_reference),
		cmocka_unit_test(an_id_may_be_held_again),
		cmocka_unit_test(two_threads_may_use_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
