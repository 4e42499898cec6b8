/* Connections to a socket of the test, which it accepts as nng does, and one to
 * a server of nng. */
#include "lib/mq/mq_accept.h"

#include "lib/fair_share.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS = 6, HANDSHAKES = 4, PLUGS = 16 };

#define SECOND UINT64_C(1000000)

static struct {
	int listener;
	uint16_t port; /* in network order */
	/* Both ends of a connection; -1: none. */
	struct {
		int peer, ours;
		struct mq_address from;
	} plugs[PLUGS];
} world;

static int listen_to(uint16_t *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_ANY) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, PLUGS), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = at.sin_port;
	return fd;
}

static int setup(void **state)
{
	const struct mq_accept_limits limits = { CONNECTIONS, HANDSHAKES,
		1000 };

	(void)state;
	for (int i = 0; i < PLUGS; i++) {
		world.plugs[i].peer = world.plugs[i].ours = -1;
	}
	world.listener = listen_to(&world.port);
	mq_accept_open(world.port, &limits);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mq_accept_close(world.port);
	(void)close(world.listener);
	for (int i = 0; i < PLUGS; i++) {
		if (world.plugs[i].peer >= 0) {
			(void)close(world.plugs[i].peer);
		}
		if (world.plugs[i].ours >= 0) {
			(void)close(world.plugs[i].ours);
		}
	}
	return 0;
}

/* From 127.0.0.host. False: it is refused. */
static bool plug_in(int i, uint8_t host)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = world.port,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in from = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl((127u << 24) + host) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	world.plugs[i].peer = fd;
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	world.plugs[i].ours = accept(world.listener, NULL, NULL);
	if (world.plugs[i].ours < 0) {
		assert_int_equal(errno, ECONNABORTED);
		return false;
	}
	assert_true(mq_address_of_file(&world.plugs[i].from,
		world.plugs[i].ours, world.port));
	return true;
}

static struct mq_accepted *greet(int i)
{
	struct mq_accepted *accepted =
		mq_accept_greeted(world.port, &world.plugs[i].from);

	assert_non_null(accepted);
	return accepted;
}

static bool is_cut(int i)
{
	char byte;

	return recv(world.plugs[i].peer, &byte, 1, MSG_DONTWAIT) == 0;
}

static void say(int i)
{
	assert_int_equal(send(world.plugs[i].peer, "x", 1, 0), 1);
}

static void check(uint64_t us)
{
	fake_clock_move(us);
	mq_accept_check(world.port, fake_clock.monotonic_us);
}

static void the_address_with_the_most_gives_way(void **state)
{
	(void)state;
	for (int i = 0; i < HANDSHAKES; i++) {
		assert_true(plug_in(i, i == 0 ? 2 : 3));
	}
	assert_string_equal(mq_accept_last_error(world.port), "");
	assert_true(plug_in(4, 2));
	assert_false(is_cut(0));
	assert_true(is_cut(1));
	assert_string_equal(mq_accept_last_error(world.port),
		"too many connections, or too many that do not end their "
		"handshake: those of the address with the most are closed");
	assert_string_equal(mq_accept_last_error(world.port), "");
	/* An address displaces none of its own that are new. */
	assert_false(plug_in(5, 3));
	assert_true(is_cut(5));
	assert_false(is_cut(2));
	assert_string_not_equal(mq_accept_last_error(world.port), "");
}

static void a_silent_peer_gives_way_to_everybody_after_two_seconds(void **state)
{
	(void)state;
	for (int i = 0; i < HANDSHAKES; i++) {
		assert_true(plug_in(i, 2));
	}
	say(0);
	check(SEAT_STALLED_US);
	assert_true(plug_in(4, 2));
	assert_false(is_cut(0));
	assert_true(is_cut(1));
}

static void a_handshake_has_fifteen_seconds(void **state)
{
	struct mq_accepted *greeted;

	(void)state;
	assert_true(plug_in(0, 2));
	assert_true(plug_in(1, 2));
	say(0);
	greeted = greet(1);
	check(MQ_HANDSHAKE_US - 1);
	assert_false(is_cut(0));
	check(1);
	assert_true(is_cut(0));
	assert_false(is_cut(1));
	assert_string_equal(mq_accept_last_error(world.port),
		"a peer connected and did not end its handshake in 15 s");
	mq_accept_forget(greeted);
}

static void a_finished_handshake_makes_room_for_another(void **state)
{
	struct mq_accepted *greeted[CONNECTIONS];

	(void)state;
	for (int i = 0; i < CONNECTIONS; i++) {
		assert_true(plug_in(i, 2));
		greeted[i] = greet(i);
	}
	/* All together have a limit, too. */
	assert_false(plug_in(CONNECTIONS, 2));
	assert_true(plug_in(CONNECTIONS + 1, 3));
	assert_true(is_cut(0));
	mq_accept_forget(greeted[1]);
	assert_true(plug_in(CONNECTIONS + 2, 2));
	/* A new one of the address goes before those that are in use. */
	assert_true(plug_in(CONNECTIONS + 3, 3));
	assert_true(is_cut(CONNECTIONS + 2));
	assert_false(is_cut(2));
	mq_accept_forget(greeted[0]);
}

static void a_connection_that_has_ended_takes_no_room(void **state)
{
	(void)state;
	for (int i = 0; i < HANDSHAKES; i++) {
		assert_true(plug_in(i, 2));
		(void)close(world.plugs[i].ours);
	}
	world.plugs[0].ours = world.plugs[1].ours = -1;
	world.plugs[2].ours = world.plugs[3].ours = -1;
	check(0);
	assert_null(mq_accept_greeted(world.port, &world.plugs[0].from));
	for (int i = 4; i < 4 + HANDSHAKES; i++) {
		assert_true(plug_in(i, 2));
	}
	assert_string_equal(mq_accept_last_error(world.port), "");
}

static void descriptors_are_left_for_others(void **state)
{
	struct mq_accept_limits limits = { CONNECTIONS, HANDSHAKES, 0 };
	int fd = dup(world.listener); /* the lowest free one */

	(void)state;
	limits.files = fd + 2; /* the peer's, and ours */
	(void)close(fd);
	mq_accept_close(world.port);
	mq_accept_open(world.port, &limits);
	assert_true(plug_in(0, 2));
	assert_false(plug_in(1, 3));
	(void)close(world.plugs[1].peer);
	world.plugs[1].peer = -1;
	mq_accept_close(world.port);
	/* Nobody limits other ports. */
	assert_true(plug_in(2, 3));
}

static void a_lack_of_descriptors_is_told(void **state)
{
	struct rlimit before, none;
	int fd;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	fd = accept4(world.listener, NULL, NULL, SOCK_NONBLOCK);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(fd, -1);
	assert_string_equal(mq_accept_last_error(world.port),
		"all file descriptors are in use: raise the limit of open "
		"files");
}

static void the_process_has_room_for_its_other_files(void **state)
{
	static const struct {
		rlim_t files;
		struct mq_accept_limits limits;
	} cases[] = {
		{ 100, { 50, 25, 75 } },
		{ 1024, { 512, 256, 768 } },
		{ 4096, { 3296, 1000, 3696 } },
		{ 20000, { 19200, 1000, 19600 } },
		{ 1000000, { 21000, 1000, 999600 } },
	};
	struct rlimit before, now;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (size_t i = 0; i < count_of(cases); i++) {
		const struct mq_accept_limits *limits = &cases[i].limits;
		struct mq_accept_limits got;

		now = before;
		now.rlim_cur = cases[i].files;
		if (now.rlim_cur > before.rlim_max) {
			continue;
		}
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
		got = mq_accept_limits();
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_int_equal(got.connections, limits->connections);
		assert_int_equal(got.handshakes, limits->handshakes);
		assert_int_equal(got.files, limits->files);
	}
}

/* ---- nng ---- */

enum { FILES = 200, SILENT = FILES / 4 + 10 };

struct crowd {
	uv_loop_t loop;
	struct mq_server *server;
	int fds[SILENT];
	size_t wanted; /* run until so many are cut, or more: nng ends them, too */
};

static void serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len)
{
	(void)owner;
	(void)request;
	(void)bytes;
	(void)len;
}

static int connect_to_server(const struct crowd *crowd, uint8_t host)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(mq_server_port(crowd->server)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in from = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl((127u << 24) + host) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static bool are_cut(void *owner)
{
	const struct crowd *crowd = owner;
	size_t cut = 0;
	char bytes[16];

	for (size_t i = 0; i < SILENT; i++) {
		/* nng greets each. */
		while (recv(crowd->fds[i], bytes, sizeof(bytes), MSG_DONTWAIT) >
			0) {
		}
		cut += recv(crowd->fds[i], bytes, 1, MSG_DONTWAIT) == 0;
	}
	return cut >= crowd->wanted;
}

static void nng_accepts_what_there_is_room_for(void **state)
{
	static struct crowd crowd;
	struct rlimit before, few;
	int other;

	(void)state;
	assert_int_equal(uv_loop_init(&crowd.loop), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = FILES;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(
		mq_server_new(&crowd.server, &crowd.loop,
			&(struct mq_server_options){ .url = "tcp://127.0.0.1:0",
				.contexts = 1,
				.serve = serve },
			NULL),
		0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (size_t i = 0; i < SILENT; i++) {
		crowd.fds[i] = connect_to_server(&crowd, 2);
	}
	crowd.wanted = SILENT - FILES / 4;
	run_until_true(&crowd.loop, are_cut, &crowd);
	assert_non_null(strstr(mq_server_last_error(crowd.server),
		"too many connections"));
	/* The address gives way to another. */
	other = connect_to_server(&crowd, 3);
	crowd.wanted++;
	run_until_true(&crowd.loop, are_cut, &crowd);
	for (size_t i = 0; i < SILENT; i++) {
		(void)close(crowd.fds[i]);
	}
	(void)close(other);
	mq_server_close(crowd.server);
	(void)uv_run(&crowd.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&crowd.loop), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_address_with_the_most_gives_way),
		TEST(a_silent_peer_gives_way_to_everybody_after_two_seconds),
		TEST(a_handshake_has_fifteen_seconds),
		TEST(a_finished_handshake_makes_room_for_another),
		TEST(a_connection_that_has_ended_takes_no_room),
		TEST(descriptors_are_left_for_others),
		TEST(a_lack_of_descriptors_is_told),
		TEST(the_process_has_room_for_its_other_files),
		cmocka_unit_test(nng_accepts_what_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
