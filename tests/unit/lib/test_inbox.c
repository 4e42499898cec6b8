#include "lib/inbox.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdlib.h>

enum { THREADS = 4, ITEMS = 2000 };

struct parcel {
	struct inbox_item item;
	size_t thread, number;
};

struct fixture {
	uv_loop_t loop;
	struct inbox *inbox;
	uv_thread_t home;
	size_t next[THREADS]; /* the number expected next */
	size_t delivered, expected;
	bool at_home, in_order; /* true for all items so far */
	bool all;		/* all expected items arrived */
};

struct pusher {
	uv_thread_t thread;
	struct inbox *inbox;
	size_t number;
};

static void deliver(void *owner, struct inbox_item *item)
{
	struct fixture *f = owner;
	struct parcel *parcel = (struct parcel *)item;
	uv_thread_t self = uv_thread_self();

	f->at_home = f->at_home && uv_thread_equal(&self, &f->home) != 0;
	f->in_order = f->in_order && f->next[parcel->thread] == parcel->number;
	f->next[parcel->thread]++;
	f->delivered++;
	f->all = f->delivered == f->expected;
	free(parcel);
}

static void push(struct inbox *inbox, size_t thread, size_t number)
{
	struct parcel *parcel = xcalloc(1, sizeof(*parcel));

	parcel->thread = thread;
	parcel->number = number;
	inbox_push(inbox, &parcel->item);
}

static void push_many(void *argument)
{
	const struct pusher *p = argument;

	for (size_t i = 0; i < ITEMS; i++) {
		push(p->inbox, p->number, i);
	}
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->at_home = true;
	f->in_order = true;
	f->home = uv_thread_self();
	assert_int_equal(uv_loop_init(&f->loop), 0);
	f->inbox = inbox_new(&f->loop, deliver, f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	inbox_close(f->inbox);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	free(f);
	return 0;
}

static void delivers_all_items_in_the_order_of_each_thread(void **state)
{
	struct fixture *f = *state;
	struct pusher pushers[THREADS];

	f->expected = (size_t)THREADS * ITEMS;
	for (size_t i = 0; i < THREADS; i++) {
		pushers[i].inbox = f->inbox;
		pushers[i].number = i;
		assert_int_equal(uv_thread_create(&pushers[i].thread, push_many,
					 &pushers[i]),
			0);
	}
	run_until(&f->loop, &f->all);
	for (size_t i = 0; i < THREADS; i++) {
		assert_int_equal(uv_thread_join(&pushers[i].thread), 0);
		assert_int_equal(f->next[i], ITEMS);
	}
	assert_true(f->in_order);
	assert_true(f->at_home);
}

static void items_that_come_often_wait_for_the_end_of_the_rest(void **state)
{
	struct fixture *f = *state;

	inbox_set_interval(f->inbox, 1000000);
	for (size_t i = 0; i < 2; i++) {
		push(f->inbox, 0, i);
		f->expected = i + 1;
		f->all = false;
		run_until(&f->loop, &f->all);
	}
	push(f->inbox, 0, 2);
	for (int i = 0; i < 10; i++) {
		(void)uv_run(&f->loop, UV_RUN_NOWAIT);
	}
	assert_int_equal(f->delivered, 2);
	push(f->inbox, 0, 3);
	inbox_close(take_ptr(f->inbox));
	assert_int_equal(f->delivered, 4);
	assert_true(f->in_order);
}

static void delivers_all_items_that_came_during_rests(void **state)
{
	struct fixture *f = *state;
	struct pusher pusher = { .inbox = f->inbox };

	inbox_set_interval(f->inbox, 2);
	f->expected = ITEMS;
	assert_int_equal(uv_thread_create(&pusher.thread, push_many, &pusher),
		0);
	run_until(&f->loop, &f->all);
	assert_int_equal(uv_thread_join(&pusher.thread), 0);
	assert_true(f->in_order);
	assert_true(f->at_home);
}

static void delivers_nothing_before_the_loop_runs(void **state)
{
	struct fixture *f = *state;

	push(f->inbox, 0, 0);
	push(f->inbox, 0, 1);
	assert_int_equal(f->delivered, 0);
	f->expected = 2;
	run_until(&f->loop, &f->all);
	assert_true(f->in_order);
	f->all = false;
	f->expected = 3;
	push(f->inbox, 0, 2);
	run_until(&f->loop, &f->all);
	assert_true(f->in_order);
}

static void closing_delivers_the_remaining_items(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < 5; i++) {
		push(f->inbox, 1, i);
	}
	inbox_close(f->inbox);
	f->inbox = NULL;
	assert_int_equal(f->delivered, 5);
	assert_true(f->in_order);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(f->delivered, 5);
	inbox_close(NULL);
}

#define INBOX_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		INBOX_TEST(delivers_all_items_in_the_order_of_each_thread),
		INBOX_TEST(items_that_come_often_wait_for_the_end_of_the_rest),
		INBOX_TEST(delivers_all_items_that_came_during_rests),
		INBOX_TEST(delivers_nothing_before_the_loop_runs),
		INBOX_TEST(closing_delivers_the_remaining_items),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
