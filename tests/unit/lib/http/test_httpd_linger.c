#include "lib/http/httpd_linger.h"

#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/fake_timers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A server's socket that is closed before its client has sent all. */
struct fixture {
	uv_loop_t loop;
	struct linger_list *list;
	int client, server;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	int pair[2];

	assert_int_equal(uv_loop_init(&f->loop), 0);
	f->list = linger_list_new(&f->loop);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	f->client = pair[0];
	f->server = pair[1];
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	linger_list_close(f->list);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	(void)close(f->client);
	if (f->server >= 0) {
		(void)close(f->server);
	}
	free(f);
	return 0;
}

static void leave(struct fixture *f)
{
	linger_list_add(f->list, f->server);
	(void)close(f->server);
	f->server = -1;
}

/* Sends and lets the server throw away. False: the server is gone. */
static bool send_more(struct fixture *f, size_t len)
{
	static const char bytes[4096];
	ssize_t sent = 0;

	for (size_t at = 0; at<len; at += sent> 0 ? (size_t)sent : 0) {
		sent = send(f->client, bytes, sizeof(bytes), MSG_NOSIGNAL);
		if (sent < 0 && errno != EAGAIN) {
			return false;
		}
		(void)uv_run(&f->loop, UV_RUN_NOWAIT);
	}
	return true;
}

static void the_response_arrives_while_the_client_sends(void **state)
{
	struct fixture *f = *state;
	char got[10] = { 0 };

	assert_int_equal(send(f->server, "413", 3, 0), 3);
	leave(f);
	assert_true(send_more(f, 1 << 20));
	assert_int_equal(recv(f->client, got, sizeof(got), 0), 3);
	assert_string_equal(got, "413");
	assert_int_equal(recv(f->client, got, sizeof(got), 0), 0);
}

static void a_client_that_sends_without_end_is_cut_off(void **state)
{
	struct fixture *f = *state;

	leave(f);
	assert_false(send_more(f, (size_t)4 * LINGER_BYTES));
}

static void pass(struct fixture *f, uint64_t us)
{
	fake_clock_move(us);
	for (int i = 0; i < 10; i++) {
		(void)uv_run(&f->loop, UV_RUN_NOWAIT);
	}
}

static bool is_response_over(void *owner)
{
	const struct fixture *f = owner;
	char byte;

	return recv(f->client, &byte, 1, 0) == 0;
}

static bool is_cut_off(void *owner)
{
	const struct fixture *f = owner;

	return send(f->client, "x", 1, MSG_NOSIGNAL) < 0;
}

static void a_client_that_neither_sends_nor_closes_is_cut_off(void **state)
{
	struct fixture *f = *state;
	leave(f);
	run_until_true(&f->loop, is_response_over, f);
	assert_false(is_cut_off(f));
	pass(f, LINGER_MS * UINT64_C(1000));
	assert_false(is_cut_off(f));
	pass(f, UINT64_C(1000000));
	run_until_true(&f->loop, is_cut_off, f);
}

/* Nothing is kept of those above the limit; closing ends the others. */
static void only_some_connections_are_kept(void **state)
{
	struct fixture *f = *state;
	int pairs[LINGER_MAX + 1][2];
	char byte;

	for (int i = 0; i <= LINGER_MAX; i++) {
		assert_int_equal(
			socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
				pairs[i]),
			0);
		linger_list_add(f->list, pairs[i][1]);
		(void)close(pairs[i][1]);
	}
	assert_true(recv(pairs[LINGER_MAX - 1][0], &byte, 1, 0) < 0);
	assert_int_equal(recv(pairs[LINGER_MAX][0], &byte, 1, 0), 0);
	for (int i = 0; i <= LINGER_MAX; i++) {
		(void)close(pairs[i][0]);
	}
}

static void a_client_that_has_closed_leaves_its_place(void **state)
{
	struct fixture *f = *state;
	char byte;

	for (int i = 0; i < LINGER_MAX; i++) {
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX,
					 SOCK_STREAM | SOCK_NONBLOCK, 0, pair),
			0);
		linger_list_add(f->list, pair[1]);
		(void)close(pair[1]);
		(void)close(pair[0]);
	}
	for (int turn = 0; turn < 4; turn++) {
		(void)uv_run(&f->loop, UV_RUN_NOWAIT);
	}
	leave(f);
	assert_true(recv(f->client, &byte, 1, 0) < 0);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(the_response_arrives_while_the_client_sends),
		test(a_client_that_sends_without_end_is_cut_off),
		test(a_client_that_neither_sends_nor_closes_is_cut_off),
		test(only_some_connections_are_kept),
		test(a_client_that_has_closed_leaves_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
