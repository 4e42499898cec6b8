#include "lib/mq/mq.h"

#include "lib/memory.h"
#include "lib/mq/mq_unfinished.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/lib/mq/checks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

SLOW("the server checks its connections twice a second");

enum { PEERS = 48, PEERS_MAX = 128 };
/* A bit below the largest, because its frame counts too. */
enum { LONG = MQ_SEND_MAX - 64 };

/* How often the server asked the kernel about a connection's bytes. */
static _Atomic size_t looks;

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len);

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	atomic_fetch_add(&looks, level == IPPROTO_TCP && name == TCP_INFO);
	return __real_getsockopt(fd, level, name, value, len);
}

/* A server, and peers without nng: their bytes are written by hand. */
struct fixture {
	uv_loop_t loop;
	struct mq_server *server;
	int peers[PEERS_MAX];
	size_t wanted; /* run until so many peers are disconnected, or served */
	size_t served;
	size_t served_bytes;
};

static void serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len)
{
	struct fixture *f = owner;

	(void)bytes;
	f->served++;
	f->served_bytes = len;
	mq_reply(request, (const uint8_t *)"pong", 4);
}

static bool is_disconnected(int fd)
{
	uint8_t bytes[64];
	ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	return got == 0 || (got < 0 && errno != EAGAIN);
}

static size_t count_disconnected(const struct fixture *f)
{
	size_t count = 0;

	for (size_t i = 0; i < PEERS_MAX; i++) {
		count += f->peers[i] >= 0 && is_disconnected(f->peers[i]);
	}
	return count;
}

static bool are_disconnected(void *owner)
{
	const struct fixture *f = owner;

	return count_disconnected(f) >= f->wanted;
}

static int setup(void **state)
{
	static struct fixture f;
	const struct mq_server_options options = { .url = "tcp://127.0.0.1:0",
		.contexts = 4,
		.serve = serve,
		.owner = &f };

	f = (struct fixture){ 0 };
	memset(f.peers, -1, sizeof(f.peers));
	assert_int_equal(uv_loop_init(&f.loop), 0);
	assert_int_equal(mq_server_new(&f.server, &f.loop, &options, NULL), 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < PEERS_MAX; i++) {
		if (f->peers[i] >= 0) {
			(void)close(f->peers[i]);
		}
	}
	mq_server_close(f->server);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	return 0;
}

static void await_disconnected(struct fixture *f, size_t count)
{
	f->wanted = count;
	run_until_true(&f->loop, are_disconnected, f);
}

static bool are_received(void *owner)
{
	const struct fixture *f = owner;
	int waiting = 0;

	for (size_t i = 0; i < PEERS_MAX && waiting == 0; i++) {
		if (f->peers[i] >= 0 && !is_disconnected(f->peers[i])) {
			assert_int_equal(ioctl(f->peers[i], SIOCOUTQ, &waiting),
				0);
		}
	}
	return waiting == 0;
}

/* Until a check of the server has seen all that the peers sent. */
static void run_check(struct fixture *f)
{
	run_until_true(&f->loop, are_received, f);
	await_check(&f->loop);
}

static void write_all(int fd, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len > 0) {
		ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);

		if (sent < 0) {
			return; /* disconnected meanwhile */
		}
		at += sent;
		len -= (size_t)sent;
	}
}

static void connect_peer(struct fixture *f, size_t i)
{
	static const uint8_t greeting[] = { 0, 'S', 'P', 0, 0, 0x30, 0, 0 };
	uint8_t answer[sizeof(greeting)];
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(mq_server_port(f->server)),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	f->peers[i] = fd;
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	write_all(fd, greeting, sizeof(greeting));
	assert_int_equal(recv(fd, answer, sizeof(answer), MSG_WAITALL),
		sizeof(answer));
}

/* The first `sent` bytes of a request with a body of len bytes. */
static void send_part(struct fixture *f, size_t i, size_t len, size_t sent)
{
	uint8_t head[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 1 };
	scoped_free uint8_t *body = xcalloc(sent + 1, 1);
	uint32_t length = htonl((uint32_t)len + 4);

	memcpy(head + 4, &length, sizeof(length));
	write_all(f->peers[i], head, sizeof(head));
	write_all(f->peers[i], body, sent);
}

static bool are_served(void *owner)
{
	const struct fixture *f = owner;

	return f->served >= f->wanted;
}

static void await_served(struct fixture *f, size_t count)
{
	f->wanted = count;
	run_until_true(&f->loop, are_served, f);
}

static void a_peer_that_stops_in_a_message_is_disconnected(void **state)
{
	struct fixture *f = *state;

	connect_peer(f, 0);
	connect_peer(f, 1);
	send_part(f, 0, 1000, 10);
	send_part(f, 1, 100, 100);
	await_served(f, 1);
	run_check(f);
	assert_int_equal(count_disconnected(f), 0);
	fake_clock_move(MQ_UNFINISHED_US);
	await_disconnected(f, 1);
	assert_true(is_disconnected(f->peers[0]));
	/* The other one is silent between two messages. */
	send_part(f, 1, 100, 100);
	await_served(f, 2);
	assert_string_equal(mq_server_last_error(f->server),
		"a peer stopped in the middle of a message");
	assert_string_equal(mq_server_last_error(f->server), "");
}

static void the_time_of_a_message_begins_with_the_message(void **state)
{
	struct fixture *f = *state;

	connect_peer(f, 0);
	for (size_t i = 1; i <= 2; i++) {
		send_part(f, 0, 1000, 400);
		run_check(f);
		fake_clock_move(MQ_UNFINISHED_US - 1);
		run_check(f);
		assert_int_equal(count_disconnected(f), 0);
		write_all(f->peers[0], (uint8_t[600]){ 0 }, 600);
		await_served(f, i);
	}
}

static void stalled_messages_are_bounded_together(void **state)
{
	struct fixture *f = *state;
	size_t extra = PEERS - MQ_UNFINISHED_STALLED_BYTES / MQ_SEND_MAX;

	for (size_t i = 0; i < PEERS; i++) {
		connect_peer(f, i);
		send_part(f, i, LONG, LONG - 1);
	}
	run_check(f);
	assert_int_equal(count_disconnected(f), 0);
	fake_clock_move(MQ_UNFINISHED_STALLED_US);
	await_disconnected(f, extra);
	/* The others may finish their messages. */
	run_check(f);
	assert_int_equal(count_disconnected(f), extra);
	for (size_t i = 0; i < PEERS; i++) {
		write_all(f->peers[i], "", 1);
	}
	await_served(f, PEERS - extra);
	assert_int_equal(f->served_bytes, LONG);
}

/* Each sends another byte before each check. */
static void messages_that_go_on_are_bounded_together(void **state)
{
	struct fixture *f = *state;
	size_t count = MQ_UNFINISHED_BYTES / MQ_SEND_MAX + 4;

	for (size_t i = 0; i < count; i++) {
		connect_peer(f, i);
		send_part(f, i, LONG, LONG - 100);
	}
	await_disconnected(f, 4);
	for (size_t i = 0; i < count; i++) {
		write_all(f->peers[i], "", 1);
	}
	run_check(f);
	assert_int_equal(count_disconnected(f), 4);
}

static void a_check_asks_only_about_connections_that_received(void **state)
{
	struct fixture *f = *state;

	connect_peer(f, 0);
	connect_peer(f, 1);
	send_part(f, 0, 100, 100);
	send_part(f, 1, 100, 100);
	await_served(f, 2);
	run_check(f);
	run_check(f);
	atomic_store(&looks, 0);
	run_check(f);
	run_check(f);
	assert_int_equal(atomic_load(&looks), 0);
	/* After that silence, part of a message is noticed. */
	send_part(f, 1, 1000, 10);
	run_check(f);
	run_check(f);
	assert_true(atomic_load(&looks) > 0);
	fake_clock_move(MQ_UNFINISHED_US);
	await_disconnected(f, 1);
	assert_true(is_disconnected(f->peers[1]));
}

static void a_message_above_the_limit_is_not_received(void **state)
{
	struct fixture *f = *state;

	connect_peer(f, 0);
	send_part(f, 0, MQ_SEND_MAX + 64, 1);
	await_disconnected(f, 1);
	assert_int_equal(f->served, 0);
}

#define MQ_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MQ_TEST(a_peer_that_stops_in_a_message_is_disconnected),
		MQ_TEST(the_time_of_a_message_begins_with_the_message),
		MQ_TEST(stalled_messages_are_bounded_together),
		MQ_TEST(messages_that_go_on_are_bounded_together),
		MQ_TEST(a_check_asks_only_about_connections_that_received),
		MQ_TEST(a_message_above_the_limit_is_not_received),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
