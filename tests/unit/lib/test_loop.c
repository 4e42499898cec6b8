#include "lib/loop.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct fixture {
	struct loop *loop;
	struct timer *timer;
	unsigned fired, stopped;
	unsigned stop_after; /* number of firings after which the loop stops */
};

static void on_stop(void *owner)
{
	struct fixture *f = owner;

	f->stopped++;
	/* Again from inside: only the first call counts. */
	loop_begin_stop(f->loop);
	timer_close(f->timer);
	f->timer = NULL;
}

static void on_fire(void *owner)
{
	struct fixture *f = owner;

	f->fired++;
	if (f->fired == f->stop_after) {
		loop_begin_stop(f->loop);
	}
}

static void on_wrong_fire(void *owner)
{
	(void)owner;
	fail_msg("a timer fired that should not");
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->loop = loop_new(on_stop, f);
	f->timer = timer_new(loop_uv(f->loop), on_fire, f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	timer_close(f->timer);
	loop_run(f->loop);
	loop_free(f->loop);
	free(f);
	return 0;
}

static void a_timer_without_repeat_fires_once(void **state)
{
	struct fixture *f = *state;

	timer_start(f->timer, 1, 0);
	loop_run(f->loop);
	assert_int_equal(f->fired, 1);
}

static void a_repeating_timer_fires_until_stopped(void **state)
{
	struct fixture *f = *state;

	f->stop_after = 5;
	timer_start(f->timer, 0, 1);
	loop_run(f->loop);
	assert_int_equal(f->fired, 5);
	assert_int_equal(f->stopped, 1);
}

/* Counts the passes of the loop, and restarts a timer in each of its firings.
 */
struct passes {
	uv_prepare_t prepare;
	struct timer *timer;
	unsigned fired, fired_in_a_pass, most_in_a_pass;
};

static void on_pass(uv_prepare_t *prepare)
{
	struct passes *p = prepare->data;

	p->fired_in_a_pass = 0;
}

static void on_restart(void *owner)
{
	struct passes *p = owner;

	if (++p->fired_in_a_pass > p->most_in_a_pass) {
		p->most_in_a_pass = p->fired_in_a_pass;
	}
	if (++p->fired < 5) {
		timer_start(p->timer, 0, 0);
	} else {
		uv_close((uv_handle_t *)&p->prepare, NULL);
	}
}

static void a_timer_that_starts_itself_lets_the_loop_go_on(void **state)
{
	struct fixture *f = *state;
	struct passes p = { .timer = timer_new(loop_uv(f->loop), on_restart,
				    &p) };

	assert_int_equal(uv_prepare_init(loop_uv(f->loop), &p.prepare), 0);
	p.prepare.data = &p;
	assert_int_equal(uv_prepare_start(&p.prepare, on_pass), 0);
	timer_start(p.timer, 0, 0);
	loop_run(f->loop);
	assert_int_equal(p.fired, 5);
	assert_int_equal(p.most_in_a_pass, 1);
	timer_close(p.timer);
}

static void a_stopped_timer_can_start_again(void **state)
{
	struct fixture *f = *state;

	timer_start(f->timer, 0, 1);
	timer_stop(f->timer);
	loop_run(f->loop);
	assert_int_equal(f->fired, 0);
	timer_start(f->timer, 1, 0);
	loop_run(f->loop);
	assert_int_equal(f->fired, 1);
}

static void starting_again_replaces_the_times(void **state)
{
	struct fixture *f = *state;

	timer_start(f->timer, 3600000, 3600000);
	timer_start(f->timer, 1, 0);
	loop_run(f->loop);
	assert_int_equal(f->fired, 1);
}

static void a_closed_timer_does_not_fire(void **state)
{
	struct fixture *f = *state;
	struct timer *other = timer_new(loop_uv(f->loop), on_wrong_fire, f);

	timer_start(other, 0, 1);
	timer_close(other);
	timer_close(NULL);
	timer_start(f->timer, 5, 0);
	loop_run(f->loop);
	assert_int_equal(f->fired, 1);
}

static void a_freed_loop_handles_no_signal(void **state)
{
	struct sigaction action;
	struct loop *loop = loop_new(on_stop, NULL);

	(void)state;
	assert_int_equal(sigaction(SIGTERM, NULL, &action), 0);
	assert_true(action.sa_handler != SIG_DFL);
	loop_free(loop);
	assert_int_equal(sigaction(SIGTERM, NULL, &action), 0);
	assert_true(action.sa_handler == SIG_DFL);
	loop_free(NULL);
}

static void only_the_first_stop_counts(void **state)
{
	struct fixture *f = *state;

	timer_start(f->timer, 3600000, 0);
	loop_begin_stop(f->loop);
	loop_begin_stop(f->loop);
	assert_int_equal(f->stopped, 1);
	loop_run(f->loop);
	assert_int_equal(f->fired, 0);
}

static void stop_on(struct fixture *f, int number)
{
	timer_start(f->timer, 3600000, 0);
	assert_int_equal(raise(number), 0);
	assert_int_equal(f->stopped, 0);
	loop_run(f->loop);
	assert_int_equal(f->stopped, 1);
}

static void sigterm_stops_on_the_loop_thread(void **state)
{
	stop_on(*state, SIGTERM);
}

static void sigint_stops_on_the_loop_thread(void **state)
{
	stop_on(*state, SIGINT);
}

static void ignores_sigpipe(void **state)
{
	(void)state;
	assert_int_equal(raise(SIGPIPE), 0);
}

static void refuse_to_stop(void *owner)
{
	(void)owner;
	(void)raise(SIGTERM);
}

/* In a child, because the process ends; the timer keeps its loop alive. */
static void a_second_signal_ends_the_process_at_once(void **state)
{
	int status = 0;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		struct loop *loop = loop_new(refuse_to_stop, NULL);
		struct timer *late =
			timer_new(loop_uv(loop), on_wrong_fire, NULL);

		timer_start(late, PATIENCE_S * UINT64_C(1000), 0);
		(void)raise(SIGTERM);
		loop_run(loop);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
}

static void raises_the_limit_of_open_files(void **state)
{
	struct rlimit before;
	struct rlimit limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	loop_free(loop_new(on_stop, NULL));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(limit.rlim_cur == before.rlim_max);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void a_loop_without_handles_ends_by_itself(void **state)
{
	struct loop *loop = loop_new(on_stop, NULL);

	(void)state;
	loop_run(loop);
	loop_free(loop);
	loop_free(NULL);
}

#define LOOP_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_second_signal_ends_the_process_at_once),
		LOOP_TEST(a_timer_without_repeat_fires_once),
		LOOP_TEST(a_repeating_timer_fires_until_stopped),
		LOOP_TEST(a_timer_that_starts_itself_lets_the_loop_go_on),
		LOOP_TEST(a_stopped_timer_can_start_again),
		LOOP_TEST(starting_again_replaces_the_times),
		LOOP_TEST(a_closed_timer_does_not_fire),
		cmocka_unit_test(a_freed_loop_handles_no_signal),
		LOOP_TEST(only_the_first_stop_counts),
		LOOP_TEST(sigterm_stops_on_the_loop_thread),
		LOOP_TEST(sigint_stops_on_the_loop_thread),
		LOOP_TEST(ignores_sigpipe),
		cmocka_unit_test(a_loop_without_handles_ends_by_itself),
		cmocka_unit_test(raises_the_limit_of_open_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
