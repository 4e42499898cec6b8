#include "lib/mq/mq.h"

#include "lib/memory.h"
#include "lib/mq/mq_nng.h"
#include "lib/mq/mq_unfinished.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* More than the kernel buffers for a peer that does not read. */
enum { BIG_REPLY = 16 << 20 };

/* Messages that nng has received completely. */
static _Atomic size_t complete;

void __real_mq_unfinished_end(struct mq_unfinished *unfinished, nng_pipe pipe,
	size_t len);
void __wrap_mq_unfinished_end(struct mq_unfinished *unfinished, nng_pipe pipe,
	size_t len);

void __wrap_mq_unfinished_end(struct mq_unfinished *unfinished, nng_pipe pipe,
	size_t len)
{
	complete++;
	__real_mq_unfinished_end(unfinished, pipe, len);
}

struct fixture {
	uv_loop_t loop;
	struct mq_server *server;
	struct mq_client *client;
	char url[128];
	struct mq_request *parked;
	bool served, replied;
	const char *why; /* the client says, or the server said */
	char request[64], reply[64];
	bool hold;
	size_t contexts, served_count;
	uint8_t *big; /* owned; the reply to "big", or NULL */
};

static void serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len)
{
	struct fixture *f = owner;

	memcpy(f->request, bytes, len);
	f->served = true;
	f->served_count++;
	if (f->hold) {
		f->parked = request;
		return;
	}
	if (f->big != NULL && strcmp(f->request, "big") == 0) {
		mq_reply(request, f->big, BIG_REPLY);
		return;
	}
	mq_reply(request, (const uint8_t *)"pong", 4);
}

static void on_reply(void *owner, const uint8_t *bytes, size_t len)
{
	struct fixture *f = owner;

	f->replied = true;
	f->reply[0] = '\0';
	if (bytes != NULL) {
		memcpy(f->reply, bytes, len);
		f->reply[len] = '\0';
	}
}

static int start_server(struct mq_server **out, struct fixture *f,
	const char *url, struct error *err)
{
	struct mq_server_options options = { .url = url,
		.contexts = f->contexts,
		.serve = serve,
		.owner = f };

	return mq_server_new(out, &f->loop, &options, err);
}

static void start_client_for(struct fixture *f, uint64_t timeout_ms)
{
	struct mq_client_options options = { .url = f->url,
		.timeout_ms = timeout_ms,
		.on_reply = on_reply,
		.owner = f };

	assert_int_equal(mq_client_new(&f->client, &f->loop, &options, NULL),
		0);
}

static void start_client(struct fixture *f)
{
	start_client_for(f, PATIENCE_S * UINT64_C(1000));
}

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .contexts = 4 };
	assert_int_equal(uv_loop_init(&f.loop), 0);
	assert_int_equal(start_server(&f.server, &f, "tcp://127.0.0.1:0", NULL),
		0);
	(void)snprintf(f.url, sizeof(f.url), "tcp://127.0.0.1:%u",
		mq_server_port(f.server));
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	mq_client_close(f->client);
	mq_server_close(f->server);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	return 0;
}

static bool is_connected(void *owner)
{
	const struct fixture *f = owner;

	return mq_client_connected(f->client);
}

static void run_until_connected(struct fixture *f)
{
	run_until_true(&f->loop, is_connected, f);
}

static void a_request_gets_its_reply(void **state)
{
	struct fixture *f = *state;

	start_client(f);
	mq_client_send(f->client, (const uint8_t *)"ping", 5);
	assert_true(mq_client_busy(f->client));
	run_until(&f->loop, &f->replied);
	assert_string_equal(f->request, "ping");
	assert_string_equal(f->reply, "pong");
	assert_false(mq_client_busy(f->client));
	/* The reply may arrive before the connection is reported. */
	run_until_connected(f);
	assert_string_equal(mq_client_last_error(f->client), "");
}

static void a_reply_may_come_much_later(void **state)
{
	struct fixture *f = *state;

	f->hold = true;
	start_client(f);
	mq_client_send(f->client, (const uint8_t *)"ping", 5);
	run_until(&f->loop, &f->served);
	assert_false(f->replied);
	mq_reply(f->parked, (const uint8_t *)"late", 4);
	run_until(&f->loop, &f->replied);
	assert_string_equal(f->reply, "late");
}

static void a_silent_server_gives_a_reply_without_bytes(void **state)
{
	struct fixture *f = *state;

	f->hold = true;
	start_client_for(f, 700);
	mq_client_send(f->client, (const uint8_t *)"ping", 5);
	run_until(&f->loop, &f->replied);
	assert_string_equal(f->reply, "");
}

/* Connects without nng, which would read by itself. Returns the descriptor. */
static int connect_by_hand(const struct fixture *f)
{
	static const uint8_t greeting[] = { 0, 'S', 'P', 0, 0, 0x30, 0, 0 };
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(mq_server_port(f->server)),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	static const struct timeval patience = { .tv_sec = PATIENCE_S };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
				 sizeof(patience)),
		0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(write(fd, greeting, sizeof(greeting)),
		sizeof(greeting));
	return fd;
}

static void ask_for_big(int fd)
{
	static const uint8_t ask[] = { 0, 0, 0, 0, 0, 0, 0, 8, 0x80, 0, 0, 1,
		'b', 'i', 'g', 0 };

	assert_int_equal(write(fd, ask, sizeof(ask)), sizeof(ask));
}

static void read_all(int fd, size_t len)
{
	static uint8_t piece[1 << 16];

	while (len > 0) {
		ssize_t got = read(fd, piece,
			len < sizeof(piece) ? len : sizeof(piece));

		assert_true(got > 0);
		len -= (size_t)got;
	}
}

/* The second reply cannot be sent before the first is read, so the test reads
 * both outside the loop. */
static void sends_a_reply_that_had_to_wait(void **state)
{
	enum { GREETING = 8, FRAME = 8 + 4 }; /* length, request id */
	struct fixture *f = *state;
	scoped_fd int fd = connect_by_hand(f);

	f->big = xcalloc(1, BIG_REPLY);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 2; i++) {
			f->served = false;
			ask_for_big(fd);
			run_until(&f->loop, &f->served);
		}
		read_all(fd,
			(round == 0 ? GREETING : 0) +
				2 * ((size_t)FRAME + BIG_REPLY));
	}
	free(take_ptr(f->big));
}

/* The loop does not run while all peers send, as if it were busy. */
static void a_burst_of_messages_fills_a_limited_number_of_slots(void **state)
{
	enum { PEERS = 100, SLOTS = 64 };
	struct fixture *f = *state;
	int peers[PEERS];

	mq_server_close(f->server);
	f->contexts = 200;
	assert_int_equal(start_server(&f->server, f, "tcp://127.0.0.1:0", NULL),
		0);
	complete = 0;
	for (size_t i = 0; i < PEERS; i++) {
		peers[i] = connect_by_hand(f);
		ask_for_big(peers[i]);
	}
	while (atomic_load(&complete) < SLOTS) {
		(void)sched_yield();
	}
	while (f->served_count < PEERS) {
		assert_true(atomic_load(&complete) <= f->served_count + SLOTS);
		(void)uv_run(&f->loop, UV_RUN_ONCE);
	}
	for (size_t i = 0; i < PEERS; i++) {
		(void)close(peers[i]);
	}
}

static void a_peer_that_never_reads_does_not_block_the_server(void **state)
{
	struct fixture *f = *state;
	scoped_fd int fd = connect_by_hand(f);

	f->big = xcalloc(1, BIG_REPLY);
	/* Twice the number of the server's contexts. */
	for (int i = 0; i < 8; i++) {
		ask_for_big(fd);
	}
	run_until(&f->loop, &f->served);
	start_client(f);
	mq_client_send(f->client, (const uint8_t *)"ping", 5);
	fake_clock.step_us = 100000;
	run_until(&f->loop, &f->replied);
	fake_clock.step_us = 0;
	free(take_ptr(f->big));
	assert_string_equal(f->reply, "pong");
}

static bool is_said(void *owner)
{
	const struct fixture *f = owner;

	return strstr(mq_client_last_error(f->client), f->why) != NULL;
}

static void reports_why_it_is_not_connected(void **state)
{
	struct fixture *f = *state;

	(void)snprintf(f->url, sizeof(f->url), "tcp://127.0.0.1:1");
	f->why = "the connection was refused";
	start_client(f);
	run_until_true(&f->loop, is_said, f);
	assert_false(mq_client_connected(f->client));
}

/* A label above 63 characters: the resolver asks nobody (RFC 1035, 2.3.4). */
static void reports_that_the_host_cannot_be_resolved(void **state)
{
	struct fixture *f = *state;

	(void)snprintf(f->url, sizeof(f->url), "tcp://x%064d:7473", 0);
	f->why = "' cannot be resolved: ";
	start_client(f);
	run_until_true(&f->loop, is_said, f);
}

/* The port is free once the old listener is closed. */
static bool has_started_server(void *owner)
{
	struct fixture *f = owner;

	return start_server(&f->server, f, f->url, NULL) == 0;
}

static void a_lost_connection_ends_only_its_request(void **state)
{
	struct fixture *f = *state;

	f->hold = true;
	start_client(f);
	mq_client_send(f->client, (const uint8_t *)"ping", 5);
	run_until(&f->loop, &f->served);
	mq_server_close(f->server);
	f->server = NULL;
	run_until(&f->loop, &f->replied);
	assert_string_equal(f->reply, "");
	f->replied = false;
	f->hold = false;
	run_until_true(&f->loop, has_started_server, f);
	mq_client_send(f->client, (const uint8_t *)"ping", 5);
	run_until(&f->loop, &f->replied);
	assert_string_equal(f->reply, "pong");
}

static void a_port_in_use_is_an_error_with_a_sentence(void **state)
{
	struct fixture *f = *state;
	struct mq_server *second = NULL;
	struct error err;

	assert_int_equal(start_server(&second, f, f->url, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "cannot listen on"));
}

static void errors_of_nng_and_the_resolver_are_words(void **state)
{
	static const struct {
		int nng;
		const char *words;
	} errors[] = {
		{ NNG_EADDRINUSE, "Address in use" },
		{ NNG_ESYSERR + EAFNOSUPPORT,
			"Address family not supported by protocol" },
		/* A machine has no address of the family. */
		{ 268435447, "Address family for hostname not supported" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(errors); i++) {
		assert_string_equal(mq_error_text(errors[i].nng),
			errors[i].words);
	}
}

/* tests/system/families_test.py has machines with one family alone. */
static void without_a_host_it_listens_where_the_machine_has_addresses(
	void **state)
{
	struct fixture *f = *state;
	struct mq_server *server = NULL;
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct error err = { 0 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(start_server(&server, f, "tcp://:0", &err), 0);
	to.sin_port = htons(mq_server_port(server));
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(close(fd), 0);
	mq_server_close(server);
}

static void refuses_urls_that_are_not_tcp(void **state)
{
	struct fixture *f = *state;
	struct mq_client_options options = { .timeout_ms = 1000,
		.on_reply = on_reply,
		.owner = f };
	struct mq_client *client = NULL;
	static const char *const bad[] = { "ipc:///tmp/x", "127.0.0.1:1",
		"tcp://", "tcp://nohost", "tls+tcp://a:1", "tcp://a:99999",
		"tcp://a:b", "tcp://:" };
	struct error err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		options.url = bad[i];
		assert_int_equal(
			mq_client_new(&client, &f->loop, &options, &err),
			-EINVAL);
		assert_non_null(strstr(err.text, bad[i]));
	}
}

static bool has_refused(void *owner)
{
	struct fixture *f = owner;

	f->why = mq_server_last_error(f->server);
	return *f->why != '\0';
}

static void the_server_reports_why_peers_failed(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(mq_server_port(f->server)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	scoped_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char bytes[64];

	assert_string_equal(mq_server_last_error(f->server), "");
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(write(fd, "GET / HTTP/1.1\r\n", 16), 16);
	/* Until the server closed the connection. */
	while (read(fd, bytes, sizeof(bytes)) > 0) {
	}
	/* nng's thread may count after the peer saw the end. */
	run_until_true(&f->loop, has_refused, f);
	assert_non_null(strstr(f->why, "does not speak plimsoll's protocol"));
	assert_string_equal(mq_server_last_error(f->server), "");
}

#define MQ_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MQ_TEST(a_request_gets_its_reply),
		MQ_TEST(a_reply_may_come_much_later),
		MQ_TEST(a_silent_server_gives_a_reply_without_bytes),
		MQ_TEST(a_burst_of_messages_fills_a_limited_number_of_slots),
		MQ_TEST(a_peer_that_never_reads_does_not_block_the_server),
		MQ_TEST(sends_a_reply_that_had_to_wait),
		MQ_TEST(reports_why_it_is_not_connected),
		MQ_TEST(reports_that_the_host_cannot_be_resolved),
		MQ_TEST(a_lost_connection_ends_only_its_request),
		MQ_TEST(a_port_in_use_is_an_error_with_a_sentence),
		MQ_TEST(errors_of_nng_and_the_resolver_are_words),
		MQ_TEST(without_a_host_it_listens_where_the_machine_has_addresses),
		MQ_TEST(refuses_urls_that_are_not_tcp),
		MQ_TEST(the_server_reports_why_peers_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
