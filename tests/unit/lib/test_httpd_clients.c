/* Which clients are disconnected, and when. Time is an argument; sockets are
 * socket pairs. */
#include "lib/httpd_clients.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CROWD = 4, PLUGS = 12 };

#define SECOND UINT64_C(1000000)
#define START (100 * SECOND)

static struct {
	struct clients clients;
	struct client client[PLUGS];
	int peer[PLUGS];
} world;

static int setup(void **state)
{
	(void)state;
	clients_init(&world.clients, CROWD);
	for (int i = 0; i < PLUGS; i++) {
		world.peer[i] = -1;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < PLUGS; i++) {
		if (world.peer[i] >= 0) {
			(void)close(world.peer[i]);
			(void)close(world.client[i].fd);
		}
	}
	clients_fini(&world.clients);
	return 0;
}

static void connect_at(int i, uint64_t now_us)
{
	int pair[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	world.peer[i] = pair[0];
	clients_add(&world.clients, &world.client[i], pair[1], now_us);
}

static bool is_cut(int i)
{
	char byte;
	ssize_t r = recv(world.peer[i], &byte, 1, MSG_PEEK);

	assert_true(r == 0 || (r < 0 && errno == EAGAIN));
	return r == 0;
}

static void move(int i, enum client_state state, uint64_t now_us)
{
	clients_set(&world.clients, &world.client[i], state, now_us);
}

static void disconnects_a_client_without_a_request_in_time(void **state)
{
	(void)state;
	connect_at(0, START);
	connect_at(1, START + SECOND);
	clients_expire(&world.clients, START + 8 * SECOND);
	assert_false(is_cut(0));
	clients_expire(&world.clients, START + 8 * SECOND + 1);
	assert_true(is_cut(0));
	assert_false(is_cut(1));
}

static void the_handler_has_no_time_limit(void **state)
{
	(void)state;
	connect_at(0, START);
	move(0, CLIENT_WAITING, START);
	clients_expire(&world.clients, START + 100000 * SECOND);
	assert_false(is_cut(0));
	move(0, CLIENT_READING, START);
	clients_expire(&world.clients, START + 120 * SECOND);
	assert_false(is_cut(0));
	clients_expire(&world.clients, START + 120 * SECOND + 1);
	assert_true(is_cut(0));
}

static void each_request_of_a_connection_has_the_full_time(void **state)
{
	(void)state;
	connect_at(0, START);
	move(0, CLIENT_WAITING, START + SECOND);
	move(0, CLIENT_READING, START + SECOND);
	move(0, CLIENT_REQUESTING, START + 50 * SECOND);
	clients_expire(&world.clients, START + 58 * SECOND);
	assert_false(is_cut(0));
	clients_expire(&world.clients, START + 58 * SECOND + 1);
	assert_true(is_cut(0));
}

static void above_the_limit_evicts_the_oldest_idle_client(void **state)
{
	(void)state;
	for (int i = 0; i < CROWD; i++) {
		connect_at(i, START + (uint64_t)i);
	}
	move(0, CLIENT_WAITING, START + 10);
	move(1, CLIENT_READING, START + 10);
	connect_at(4, START + 20);
	assert_true(is_cut(2));
	assert_false(is_cut(0));
	assert_false(is_cut(1));
	assert_false(is_cut(3));
	/* A disconnected client is not counted or disconnected again. */
	connect_at(5, START + 21);
	assert_true(is_cut(3));
	assert_false(is_cut(4));
	clients_remove(&world.clients, &world.client[4]);
	connect_at(6, START + 22);
	assert_false(is_cut(5));
}

static void never_evicts_clients_that_are_being_served(void **state)
{
	(void)state;
	for (int i = 0; i < CROWD; i++) {
		connect_at(i, START);
		move(i, CLIENT_WAITING, START);
	}
	connect_at(CROWD, START);
	for (int i = 0; i <= CROWD; i++) {
		assert_false(is_cut(i));
	}
}

static void counts_a_client_without_a_request_once(void **state)
{
	(void)state;
	connect_at(0, START);
	connect_at(1, START);
	move(1, CLIENT_WAITING, START);
	move(1, CLIENT_READING, START);
	move(1, CLIENT_REQUESTING, START);
	assert_int_equal(clients_failed_connections(&world.clients), 0);
	clients_remove(&world.clients, &world.client[0]);
	clients_remove(&world.clients, &world.client[1]);
	assert_int_equal(clients_failed_connections(&world.clients), 1);
	assert_int_equal(clients_failed_connections(&world.clients), 0);
}

#define CLIENTS_TEST(name)                                                     \
	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLIENTS_TEST(disconnects_a_client_without_a_request_in_time),
		CLIENTS_TEST(the_handler_has_no_time_limit),
		CLIENTS_TEST(each_request_of_a_connection_has_the_full_time),
		CLIENTS_TEST(above_the_limit_evicts_the_oldest_idle_client),
		CLIENTS_TEST(never_evicts_clients_that_are_being_served),
		CLIENTS_TEST(counts_a_client_without_a_request_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
