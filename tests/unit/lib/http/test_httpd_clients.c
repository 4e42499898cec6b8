/* Which clients are disconnected, and when. Time is an argument; sockets are
 * socket pairs. */
#include "lib/http/httpd_clients.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CROWD = 4, PLUGS = 12, BYTES = 100, STREAMS = 2 };
/* The reserve of the bytes of bodies is for bodies up to SMALL. */
enum { RESERVE = 10, SMALL = 5 };

#define SECOND UINT64_C(1000000)
#define START (100 * SECOND)

static struct {
	struct clients clients;
	struct client client[PLUGS];
	int peer[PLUGS];
	bool is_removed[PLUGS];
} world;

static int setup(void **state)
{
	static const struct client_limits limits[] = {
		[CLIENT_CONNECTION].sum.max = CROWD,
		[CLIENT_BODY] = { { .max = BYTES, .reserve = RESERVE }, SMALL },
		[CLIENT_PLACE].sum = { .max = BYTES, .flow_max = 3 },
		[CLIENT_RESPONSE].sum.max = BYTES,
		[CLIENT_STREAM].sum.max = STREAMS,
	};

	(void)state;
	clients_init(&world.clients, limits);
	for (int i = 0; i < PLUGS; i++) {
		world.peer[i] = -1;
		world.is_removed[i] = false;
	}
	return 0;
}

static void unplug(int i)
{
	if (!world.is_removed[i]) {
		clients_remove(&world.clients, &world.client[i]);
	}
	(void)close(world.peer[i]);
	(void)close(world.client[i].fd);
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < PLUGS; i++) {
		if (world.peer[i] >= 0) {
			unplug(i);
		}
	}
	clients_fini(&world.clients);
	return 0;
}

static void connect_from(const char *address, int i, uint64_t now_us)
{
	int pair[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	world.peer[i] = pair[0];
	clients_add(&world.clients, &world.client[i], pair[1], address, now_us);
}

static void connect_at(int i, uint64_t now_us)
{
	connect_from("10.0.0.1", i, now_us);
}

static void leave(int i)
{
	clients_remove(&world.clients, &world.client[i]);
	world.is_removed[i] = true;
}

static bool take(int i, enum client_share share, size_t size, uint64_t now_us)
{
	return clients_take(&world.clients, &world.client[i], share, NULL, size,
		now_us);
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
	leave(4);
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
	connect_from("10.0.0.2", CROWD, START);
	for (int i = 0; i <= CROWD; i++) {
		assert_false(is_cut(i));
	}
	/* But their address gets no more. */
	connect_at(CROWD + 1, START);
	assert_true(is_cut(CROWD + 1));
	connect_from("10.0.0.3", CROWD + 2, START);
	assert_false(is_cut(CROWD + 2));
}

static void one_address_does_not_evict_the_clients_of_others(void **state)
{
	(void)state;
	connect_from("10.0.0.2", 0, START);
	for (int i = 1; i < PLUGS; i++) {
		connect_at(i, START + (uint64_t)i);
	}
	assert_false(is_cut(0));
	assert_false(is_cut(PLUGS - 1));
	assert_true(is_cut(PLUGS - CROWD));
	assert_int_equal(clients_counts(&world.clients).displaced,
		PLUGS - CROWD);
	assert_int_equal(clients_counts(&world.clients).displaced, 0);
}

static void a_reader_that_does_not_read_gives_way_to_a_connection(void **state)
{
	(void)state;
	for (int i = 0; i < CROWD; i++) {
		connect_at(i, START);
		move(i, CLIENT_READING, START);
	}
	for (int i = 1; i < CROWD; i++) {
		clients_moved(&world.clients, &world.client[i], false,
			START + SECOND);
	}
	connect_at(CROWD, START + 2 * SECOND);
	assert_true(is_cut(0));
	assert_false(is_cut(1));
}

static void a_reader_that_does_not_read_gives_up_its_stream(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		connect_at(i, START);
		move(i, CLIENT_WAITING, START);
	}
	assert_true(take(0, CLIENT_STREAM, 1, START));
	assert_true(take(1, CLIENT_STREAM, 1, START));
	assert_false(take(2, CLIENT_STREAM, 1, START + 9 * SECOND));
	move(0, CLIENT_READING, START);
	move(1, CLIENT_READING, START);
	assert_false(take(2, CLIENT_STREAM, 1, START + SECOND));
	/* This one waits for the server. */
	clients_moved(&world.clients, &world.client[0], true, START);
	assert_true(take(2, CLIENT_STREAM, 1, START + 2 * SECOND));
	assert_true(is_cut(1));
	assert_false(is_cut(0));
}

static void one_address_does_not_take_all_streams(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		connect_from(i < 2 ? "10.0.0.1" : "10.0.0.2", i, START);
		move(i, CLIENT_READING, START);
	}
	assert_true(take(0, CLIENT_STREAM, 1, START));
	assert_true(take(1, CLIENT_STREAM, 1, START));
	assert_true(take(2, CLIENT_STREAM, 1, START));
	assert_true(is_cut(0));
	assert_false(is_cut(1));
}

static void a_name_counts_instead_of_the_address(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		connect_at(i, START);
		move(i, CLIENT_READING, START);
		assert_true(clients_take(&world.clients, &world.client[i],
			CLIENT_STREAM, i < 2 ? "user a" : "user b", 1, START));
	}
	assert_true(is_cut(0));
}

static void a_body_that_does_not_arrive_gives_way(void **state)
{
	(void)state;
	connect_at(0, START);
	connect_at(1, START);
	assert_true(take(0, CLIENT_BODY, BYTES, START));
	assert_false(take(1, CLIENT_BODY, BYTES, START + SECOND));
	clients_moved(&world.clients, &world.client[0], false, START + SECOND);
	assert_true(take(1, CLIENT_BODY, BYTES, START + 2 * SECOND));
	assert_true(is_cut(0));
	/* A disconnected client gets nothing more. */
	assert_false(take(0, CLIENT_BODY, 1, START + 2 * SECOND));
	clients_give_back(&world.clients, &world.client[0], CLIENT_BODY);
}

static void a_complete_body_does_not_give_way(void **state)
{
	(void)state;
	connect_at(0, START);
	connect_at(1, START);
	assert_true(take(0, CLIENT_BODY, BYTES, START));
	move(0, CLIENT_WAITING, START);
	assert_false(take(1, CLIENT_BODY, SMALL + 1, START + 9 * SECOND));
	clients_give_back(&world.clients, &world.client[0], CLIENT_BODY);
	assert_true(take(1, CLIENT_BODY, SMALL + 1, START + 9 * SECOND));
	assert_false(is_cut(0));
}

static void small_bodies_have_a_reserve(void **state)
{
	(void)state;
	connect_at(0, START);
	assert_true(take(0, CLIENT_BODY, BYTES - RESERVE, START));
	move(0, CLIENT_WAITING, START);
	for (int i = 1; i < 4; i++) {
		connect_at(i, START);
	}
	assert_false(take(1, CLIENT_BODY, SMALL + 1, START));
	assert_true(take(1, CLIENT_BODY, SMALL, START));
	assert_true(take(2, CLIENT_BODY, SMALL, START));
	assert_false(take(3, CLIENT_BODY, 1, START));
}

static void a_small_body_displaces_a_large_one_of_another(void **state)
{
	(void)state;
	connect_from("10.0.0.1", 0, START);
	connect_from("10.0.0.2", 1, START);
	connect_from("10.0.0.3", 2, START);
	assert_true(take(0, CLIENT_BODY, BYTES - RESERVE - 12, START));
	assert_true(take(1, CLIENT_BODY, 12, START));
	assert_true(take(2, CLIENT_BODY, SMALL + 1, START));
	assert_true(is_cut(0));
	assert_false(is_cut(1));
}

static void a_peer_without_a_place_gets_none_by_displacing(void **state)
{
	(void)state;
	connect_at(0, START);
	connect_at(1, START);
	connect_from("10.0.0.2", 2, START);
	for (int i = 0; i < 3; i++) {
		move(i, CLIENT_WAITING, START);
	}
	assert_true(take(0, CLIENT_PLACE, 2, START));
	assert_false(take(1, CLIENT_PLACE, 2, START + 9 * SECOND));
	assert_true(take(1, CLIENT_PLACE, 1, START));
	assert_true(take(2, CLIENT_PLACE, 2, START));
	assert_false(is_cut(0));
	assert_false(is_cut(1));
}

static void counts_a_client_without_a_request_once(void **state)
{
	(void)state;
	connect_at(0, START);
	connect_at(1, START);
	move(1, CLIENT_WAITING, START);
	move(1, CLIENT_READING, START);
	move(1, CLIENT_REQUESTING, START);
	assert_int_equal(clients_counts(&world.clients).failed, 0);
	leave(0);
	leave(1);
	assert_int_equal(clients_counts(&world.clients).failed, 1);
	assert_int_equal(clients_counts(&world.clients).failed, 0);
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
		CLIENTS_TEST(one_address_does_not_evict_the_clients_of_others),
		CLIENTS_TEST(
			a_reader_that_does_not_read_gives_way_to_a_connection),
		CLIENTS_TEST(a_reader_that_does_not_read_gives_up_its_stream),
		CLIENTS_TEST(one_address_does_not_take_all_streams),
		CLIENTS_TEST(a_name_counts_instead_of_the_address),
		CLIENTS_TEST(a_body_that_does_not_arrive_gives_way),
		CLIENTS_TEST(a_complete_body_does_not_give_way),
		CLIENTS_TEST(small_bodies_have_a_reserve),
		CLIENTS_TEST(a_small_body_displaces_a_large_one_of_another),
		CLIENTS_TEST(a_peer_without_a_place_gets_none_by_displacing),
		CLIENTS_TEST(counts_a_client_without_a_request_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
