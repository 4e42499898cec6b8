#include "aggregator/live/claims.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

enum { NAMES = 8 };

struct fixture {
	struct claims claims;
	struct claim of[NAMES];
};

static int setup(void **state)
{
	*state = xcalloc(1, sizeof(struct fixture));
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < NAMES; i++) {
		claims_drop(&f->of[i]);
	}
	assert_true(LIST_EMPTY(&f->claims.share.flows));
	scoped_free_run(state);
	return 0;
}

static void report(struct fixture *f, size_t name, uint64_t peer, int times)
{
	for (int i = 0; i < times; i++) {
		claims_note(&f->claims, &f->of[name], peer);
	}
}

static void peers_with_one_name_each_keep_it(void **state)
{
	struct fixture *f = *state;

	assert_null(claims_weakest(&f->claims, 1));
	report(f, 0, 10, 1);
	report(f, 1, 11, CLAIMS_REPORTS);
	assert_null(claims_weakest(&f->claims, 12));
}

static void the_peer_with_most_names_gives_way(void **state)
{
	struct fixture *f = *state;

	report(f, 0, 10, 1);
	for (size_t i = 1; i < NAMES; i++) {
		report(f, i, 666, CLAIMS_REPORTS);
	}
	report(f, 1, 666, 1); /* now name 2 is silent for longest */
	assert_ptr_equal(claims_weakest(&f->claims, 11), &f->of[2]);
	report(f, 5, 666, 1);
	claims_drop(&f->of[2]);
	assert_ptr_equal(claims_weakest(&f->claims, 11), &f->of[3]);
}

static void a_peer_pays_for_its_new_names_itself(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < NAMES; i++) {
		report(f, i, 666, i == 4 ? 1 : CLAIMS_REPORTS);
	}
	assert_ptr_equal(claims_weakest(&f->claims, 666), &f->of[4]);
	/* A node that reports regularly does not give way to it. */
	report(f, 4, 666, CLAIMS_REPORTS);
	assert_null(claims_weakest(&f->claims, 666));
}

static void a_peer_with_fewer_names_than_another_keeps_its_new_ones(
	void **state)
{
	struct fixture *f = *state;

	report(f, 0, 10, 1);
	report(f, 1, 666, CLAIMS_REPORTS);
	assert_ptr_equal(claims_weakest(&f->claims, 10), &f->of[0]);
	report(f, 2, 666, CLAIMS_REPORTS);
	assert_null(claims_weakest(&f->claims, 10));
}

static void new_names_of_a_peer_give_way_before_settled_ones(void **state)
{
	struct fixture *f = *state;

	report(f, 0, 1, CLAIMS_REPORTS);
	report(f, 1, 1, 1);
	report(f, 2, 1, 1);
	report(f, 1, 1, 1);
	assert_ptr_equal(claims_weakest(&f->claims, 2), &f->of[2]);
}

static void a_name_belongs_to_the_peer_that_reported_it_last(void **state)
{
	struct fixture *f = *state;

	/* As after a restart: the names come from the store. */
	report(f, 0, 0, 1);
	report(f, 1, 0, 1);
	report(f, 2, 0, 1);
	report(f, 0, 10, 1);
	assert_ptr_equal(claims_weakest(&f->claims, 11), &f->of[1]);
	report(f, 1, 12, 1);
	report(f, 2, 13, 1);
	assert_null(claims_weakest(&f->claims, 11));
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(peers_with_one_name_each_keep_it),
		test(the_peer_with_most_names_gives_way),
		test(a_peer_pays_for_its_new_names_itself),
		test(a_peer_with_fewer_names_than_another_keeps_its_new_ones),
		test(new_names_of_a_peer_give_way_before_settled_ones),
		test(a_name_belongs_to_the_peer_that_reported_it_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
