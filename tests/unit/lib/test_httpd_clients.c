/* Who is cut off, and when. Time is an argument; sockets are pairs. */
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

static void whoever_does_not_ask_in_time_is_cut_off(void **state)
{
	(void)state;
	connect_at(0, START);
	connect_at(1, START + SECOND);
	clients_reap(&world.clients, START + 8 * SECOND);
	assert_false(is_cut(0));
	clients_reap(&world.clients, START + 8 * SECOND + 1);
	assert_true(is_cut(0));
	assert_false(is_cut(1));
}

static void an_answer_that_is_owed_takes_the_time_it_takes(void **state)
{
	(void)state;
	connect_at(0, START);
	move(0, CLIENT_SERVED, START);
	clients_reap(&world.clients, START + 100000 * SECOND);
	assert_false(is_cut(0));
	move(0, CLIENT_READING, START);
	clients_reap(&world.clients, START + 120 * SECOND);
	assert_false(is_cut(0));
	clients_reap(&world.clients, START + 120 * SECOND + 1);
	assert_true(is_cut(0));
}

static void a_kept_connection_has_its_time_anew(void **state)
{
	(void)state;
	connect_at(0, START);
	move(0, CLIENT_SERVED, START + SECOND);
	move(0, CLIENT_READING, START + SECOND);
	move(0, CLIENT_ASKING, START + 50 * SECOND);
	clients_reap(&world.clients, START + 58 * SECOND);
	assert_false(is_cut(0));
	clients_reap(&world.clients, START + 58 * SECOND + 1);
	assert_true(is_cut(0));
}

static void in_a_crowd_the_oldest_that_asks_makes_room(void **state)
{
	(void)state;
	for (int i = 0; i < CROWD; i++) {
		connect_at(i, START + (uint64_t)i);
	}
	move(0, CLIENT_SERVED, START + 10);
	move(1, CLIENT_READING, START + 10);
	connect_at(4, START + 20);
	assert_true(is_cut(2));
	assert_false(is_cut(0));
	assert_false(is_cut(1));
	assert_false(is_cut(3));
	/* What was cut no longer counts, and is not cut twice. */
	connect_at(5, START + 21);
	assert_true(is_cut(3));
	assert_false(is_cut(4));
	clients_remove(&world.clients, &world.client[4]);
	connect_at(6, START + 22);
	assert_false(is_cut(5));
}

static void a_crowd_that_is_being_served_is_left_alone(void **state)
{
	(void)state;
	for (int i = 0; i < CROWD; i++) {
		connect_at(i, START);
		move(i, CLIENT_SERVED, START);
	}
	connect_at(CROWD, START);
	for (int i = 0; i <= CROWD; i++) {
		assert_false(is_cut(i));
	}
}

static void who_never_asked_is_counted_once(void **state)
{
	(void)state;
	connect_at(0, START);
	connect_at(1, START);
	move(1, CLIENT_SERVED, START);
	move(1, CLIENT_READING, START);
	move(1, CLIENT_ASKING, START);
	assert_int_equal(clients_strangers(&world.clients), 0);
	clients_remove(&world.clients, &world.client[0]);
	clients_remove(&world.clients, &world.client[1]);
	assert_int_equal(clients_strangers(&world.clients), 1);
	assert_int_equal(clients_strangers(&world.clients), 0);
}

#define CLIENTS_TEST(name)                                                     \
	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLIENTS_TEST(whoever_does_not_ask_in_time_is_cut_off),
		CLIENTS_TEST(an_answer_that_is_owed_takes_the_time_it_takes),
		CLIENTS_TEST(a_kept_connection_has_its_time_anew),
		CLIENTS_TEST(in_a_crowd_the_oldest_that_asks_makes_room),
		CLIENTS_TEST(a_crowd_that_is_being_served_is_left_alone),
		CLIENTS_TEST(who_never_asked_is_counted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
