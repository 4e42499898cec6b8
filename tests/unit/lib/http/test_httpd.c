#include "lib/http/httpd.h"

#include "lib/http/httpd_response.h"
#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"
#include "tests/support/idle_clients.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* One such response fits, two do not. */
enum { BIG = HTTPD_UNREAD_MAX / 4 * 3 };

/* As many of these bodies fit. */
enum {
	BODY = 2 << 20,
	BODIES = (HTTPD_BODIES_MAX - HTTPD_BODIES_RESERVE) / BODY,
};

enum { CHUNKED = 8 };

static const struct httpd_body bodies[] = {
	{ "POST", "/body", BODY, false },
	{ "PUT", "/hello", 1, false },
	{ "POST", "/of/*/chunks", CHUNKED, true },
	{ "POST", "/large", BODY, true },
};

struct fixture {
	uv_loop_t loop;
	struct httpd *httpd;
	struct httpd_request *parked;
	bool hold;
	int served; /* requests that reached the handler */
	int fd;
	uv_poll_t poll;
	char got[8192];
	size_t got_len;
	bool complete;
	char *big; /* owned; the response to /big, or NULL */
	bool served_big;
};

static void serve(void *owner, struct httpd_request *request)
{
	struct fixture *f = owner;
	const char *who = httpd_query(request, "who");
	char body[256];
	size_t len;

	f->served++;
	if (f->hold) {
		f->parked = request;
		f->complete = true;
		return;
	}
	if (strcmp(httpd_method(request), "GET") != 0) {
		const char *sent = httpd_body(request, &len);

		httpd_reply(request, 200, "text/plain", sent, len);
		return;
	}
	if (strcmp(httpd_path(request), "/wait") == 0) {
		if (httpd_take_place(request, true)) {
			f->parked = request;
			f->complete = true;
		}
		return;
	}
	if (strcmp(httpd_path(request), "/big") == 0) {
		httpd_reply(request, 200, "text/plain", f->big, BIG);
		f->served_big = true;
		return;
	}
	if (strcmp(httpd_path(request), "/hello") != 0) {
		httpd_reply_error(request, 404, "there is no %s",
			httpd_path(request));
		return;
	}
	(void)snprintf(body, sizeof(body), "hello %s",
		who == NULL ? "nobody" : who);
	httpd_reply(request, 200, "text/plain", body, strlen(body));
}

static int start_server(struct httpd **out, struct fixture *f,
	const char *address, struct error *err)
{
	const struct httpd_options options = {
		.address = address,
		.serve = serve,
		.owner = f,
		.bodies = bodies,
		.body_count = count_of(bodies),
	};

	return httpd_new(out, &f->loop, &options, err);
}

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .fd = -1 };
	assert_int_equal(uv_loop_init(&f.loop), 0);
	assert_int_equal(start_server(&f.httpd, &f, "127.0.0.1:0", NULL), 0);
	*state = &f;
	return 0;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct fixture *f = poll->data;
	ssize_t len = recv(f->fd, f->got + f->got_len,
		sizeof(f->got) - 1 - f->got_len, 0);

	(void)status;
	(void)events;
	if (len > 0) {
		f->got_len += (size_t)len;
		f->got[f->got_len] = '\0';
		return;
	}
	f->complete = true;
	uv_poll_stop(poll);
}

static int connect_from(const struct fixture *f, const char *address)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(httpd_port(f->httpd)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET, address, &from.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static int connect_to(const struct fixture *f)
{
	return connect_from(f, "127.0.0.1");
}

static void send_bytes(struct fixture *f, const char *bytes)
{
	if (f->fd < 0) {
		f->fd = connect_to(f);
		assert_int_equal(uv_poll_init(&f->loop, &f->poll, f->fd), 0);
		f->poll.data = f;
		assert_int_equal(
			uv_poll_start(&f->poll, UV_READABLE, on_readable), 0);
	}
	assert_int_equal(send(f->fd, bytes, strlen(bytes), 0),
		(ssize_t)strlen(bytes));
}

/* The whole response to one request, whose connection is then closed. */
static const char *ask(struct fixture *f, const char *request)
{
	send_bytes(f, request);
	run_until(&f->loop, &f->complete);
	return f->got;
}

/* The next request uses a new connection. */
static void hang_up(struct fixture *f)
{
	uv_close((uv_handle_t *)&f->poll, NULL);
	(void)uv_run(&f->loop, UV_RUN_NOWAIT);
	(void)close(f->fd);
	f->fd = -1;
	f->got[0] = '\0';
	f->got_len = 0;
	f->complete = false;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	free(f->big);
	httpd_close(f->httpd);
	if (f->fd >= 0) {
		uv_close((uv_handle_t *)&f->poll, NULL);
	}
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	if (f->fd >= 0) {
		(void)close(f->fd);
	}
	assert_int_equal(uv_loop_close(&f->loop), 0);
	return 0;
}

#define CLOSE "Host: x\r\nConnection: close\r\n"

static void decodes_the_query(void **state)
{
	const char *got =
		ask(*state, "GET /hello?who=a%20b HTTP/1.1\r\n" CLOSE "\r\n");

	assert_non_null(strstr(got, "HTTP/1.1 200"));
	assert_non_null(strstr(got, "X-Content-Type-Options: nosniff"));
	assert_non_null(strstr(got, "hello a b"));
}

static void errors_are_a_sentence_in_json(void **state)
{
	const char *got = ask(*state, "GET /\"x HTTP/1.1\r\n" CLOSE "\r\n");

	assert_non_null(strstr(got, "HTTP/1.1 404"));
	assert_non_null(strstr(got, "{\"error\":\"there is no /\\\"x\"}"));
}

static void counts_responses_by_the_class_of_their_status(void **state)
{
	struct fixture *f = *state;
	uint64_t counts[HTTPD_CLASSES];

	(void)ask(f, "GET /hello HTTP/1.1\r\n" CLOSE "\r\n");
	hang_up(f);
	(void)ask(f, "GET /x HTTP/1.1\r\n" CLOSE "\r\n");
	httpd_responses_read(f->httpd, counts);
	assert_int_equal(counts[2], 1);
	assert_int_equal(counts[4], 1);
	assert_int_equal(counts[5], 0);
}

static void a_body_reaches_the_handler(void **state)
{
	const char *got = ask(*state,
		"POST /body HTTP/1.1\r\n" CLOSE
		"Content-Length: 5\r\n\r\n12345");

	assert_non_null(strstr(got, "\r\n\r\n12345"));
}

#define CHUNKS "Transfer-Encoding: chunked\r\n\r\n"

static void a_body_may_come_in_chunks(void **state)
{
	const char *got = ask(*state,
		"POST /of/a/chunks HTTP/1.1\r\n" CLOSE CHUNKS
		"3\r\n123\r\n5\r\n45678\r\n0\r\n\r\n");

	assert_non_null(strstr(got, "\r\n\r\n12345678"));
}

static void more_chunks_than_the_maximum_are_413(void **state)
{
	struct fixture *f = *state;

	(void)ask(f,
		"POST /of/a/chunks HTTP/1.1\r\n" CLOSE CHUNKS
		"3\r\n123\r\n6\r\n456789\r\n1\r\n0\r\n0\r\n\r\n");
	assert_non_null(strstr(f->got, "HTTP/1.1 413"));
	assert_int_equal(f->served, 0);
}

static void an_asterisk_is_one_segment(void **state)
{
	static const char *const others[] = { "/of//chunks", "/of/a/b/chunks",
		"/of/a/chunksx", "/of/a/chunk", "/of/a" };
	struct fixture *f = *state;

	for (size_t i = 0; i < count_of(others); i++) {
		scoped_free char *text = xasprintf("POST %s HTTP/1.1\r\n" CLOSE
						   "Content-Length: 2\r\n\r\n"
						   "ab",
			others[i]);

		assert_null(strstr(ask(f, text), "\r\n\r\nab"));
		hang_up(f);
	}
}

static void a_client_that_hangs_up_has_abandoned_its_request(void **state)
{
	struct fixture *f = *state;

	f->hold = true;
	send_bytes(f, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
	run_until(&f->loop, &f->complete);
	assert_false(httpd_is_abandoned(f->parked));
	assert_int_equal(shutdown(f->fd, SHUT_RDWR), 0);
	assert_true(httpd_is_abandoned(f->parked));
	httpd_reply(f->parked, 200, "text/plain", "", 0);
}

/* None of these clients ever sends its body. */
static const struct unread_body {
	const char *request, *status;
	int served;
} unread_bodies[] = {
	{ "POST /body HTTP/1.1\r\nHost: x\r\n"
	  "Content-Length: 2097153\r\n\r\n",
		"413", 0 },
	{ "POST /body HTTP/1.1\r\nHost: x\r\n"
	  "Content-Length: 18446744073709551615\r\n\r\n",
		"413", 0 },
	{ "POST /body HTTP/1.1\r\nHost: x\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n",
		"411", 0 },
	{ "POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n",
		"411", 0 },
	{ "PUT /hello HTTP/1.1\r\nHost: x\r\n"
	  "Content-Length: 2\r\n\r\n",
		"413", 0 },
	/* Here the handler decides. */
	{ "GET /none HTTP/1.1\r\nHost: x\r\n"
	  "Content-Length: 9\r\n\r\n",
		"404", 1 },
	{ "GET /hello HTTP/1.1\r\nHost: x\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n",
		"200", 1 },
	{ "POST /hello HTTP/1.1\r\nHost: x\r\n"
	  "Content-Length: 9\r\nExpect: 100-continue\r\n\r\n",
		"200", 1 },
	{ "POST /bodies HTTP/1.1\r\nHost: x\r\n"
	  "Content-Length: 9\r\n\r\n",
		"200", 1 },
};

static void check_unread_body(struct fixture *f,
	const struct unread_body *unread)
{
	f->served = 0;
	assert_ptr_equal(strstr(ask(f, unread->request), "HTTP/1.1 "), f->got);
	if (strncmp(f->got + 9, unread->status, 3) != 0) {
		fail_msg("%s: %s", unread->request, f->got);
	}
	assert_non_null(strstr(f->got, "Connection: close"));
	assert_int_equal(f->served, unread->served);
	hang_up(f);
}

static void the_headers_decide_about_a_body(void **state)
{
	for (size_t i = 0; i < count_of(unread_bodies); i++) {
		check_unread_body(*state, &unread_bodies[i]);
	}
}

static void a_body_that_is_not_read_is_no_request(void **state)
{
	static const char *const methods[] = { "GET", "POST", "PATCH" };
	struct fixture *f = *state;

	for (size_t i = 0; i < count_of(methods); i++) {
		scoped_free char *text = xasprintf(
			"%s /hello HTTP/1.1\r\nHost: x\r\n"
			"Content-Length: 36\r\n\r\n"
			"GET /hello?who=b HTTP/1.1\r\nHost: x\r\n\r\n",
			methods[i]);

		f->served = 0;
		assert_null(strstr(ask(f, text), "hello b"));
		assert_int_equal(f->served, 1);
		hang_up(f);
	}
}

static void a_client_may_wait_for_100_continue(void **state)
{
	struct fixture *f = *state;

	send_bytes(f,
		"POST /body HTTP/1.1\r\n" CLOSE
		"Content-Length: 5\r\nExpect: 100-continue\r\n\r\n");
	while (strstr(f->got, "100 Continue") == NULL) {
		(void)uv_run(&f->loop, UV_RUN_ONCE);
	}
	send_bytes(f, "12345");
	run_until(&f->loop, &f->complete);
	assert_non_null(strstr(f->got, "\r\n\r\n12345"));
}

/* ---- the sum of all bodies ---- */

static const char announce[] =
	"POST /body HTTP/1.1\r\nHost: x\r\n"
	"Content-Length: 2097152\r\n\r\n";
static const char small[] =
	"POST /body HTTP/1.1\r\n" CLOSE "Content-Length: 5\r\n\r\n12345";

static const char wait_for[] = "GET /wait HTTP/1.1\r\n" CLOSE "\r\n";

/* A client whose body is admitted: it gets 100 Continue. */
static int begin(struct fixture *f, const char *address, const char *request)
{
	char answer[100];
	int fd = connect_from(f, address);

	assert_int_equal(send(fd, request, strlen(request), 0),
		(ssize_t)strlen(request));
	assert_true(recv(fd, answer, sizeof(answer), 0) > 12);
	assert_memory_equal(answer, "HTTP/1.1 100", 12);
	return fd;
}

static int begin_body(struct fixture *f, const char *address)
{
	return begin(f, address,
		"POST /body HTTP/1.1\r\nHost: x\r\n"
		"Content-Length: 2097152\r\nExpect: 100-continue\r\n\r\n");
}

static void a_body_beyond_the_sum_is_503(void **state)
{
	struct fixture *f = *state;
	int fds[BODIES];

	for (int i = 0; i < BODIES; i++) {
		fds[i] = begin_body(f, "127.0.0.1");
	}
	assert_non_null(strstr(ask(f, announce), "HTTP/1.1 503"));
	assert_non_null(strstr(f->got, "too many bodies are on their way"));
	assert_int_equal(f->served, 0);
	for (int i = 0; i < BODIES; i++) {
		(void)close(fds[i]);
	}
}

/* A large maximum, and one byte of it is sent. */
static void chunks_count_as_the_maximum_until_they_are_complete(void **state)
{
	struct fixture *f = *state;
	int fds[BODIES - 1];
	int half;

	for (int i = 0; i < BODIES - 1; i++) {
		fds[i] = begin_body(f, "127.0.0.1");
	}
	half = begin(f, "127.0.0.1",
		"POST /large HTTP/1.1\r\nHost: x\r\n"
		"Expect: 100-continue\r\n" CHUNKS);
	assert_non_null(strstr(ask(f, announce), "HTTP/1.1 503"));
	hang_up(f);
	f->hold = true;
	assert_int_equal(send(half, "1\r\na\r\n0\r\n\r\n", 11, 0), 11);
	run_until(&f->loop, &f->complete);
	(void)close(begin_body(f, "127.0.0.1"));
	httpd_reply(f->parked, 200, "text/plain", "", 0);
	(void)close(half);
	for (int i = 0; i < BODIES - 1; i++) {
		(void)close(fds[i]);
	}
}

static void one_address_does_not_take_the_room_of_all_bodies(void **state)
{
	struct fixture *f = *state;
	int fds[BODIES];
	char byte;

	for (int i = 0; i < BODIES; i++) {
		fds[i] = begin_body(f, "127.0.0.2");
	}
	/* A small one has room all the same. */
	assert_non_null(strstr(ask(f, small), "\r\n\r\n12345"));
	assert_true(recv(fds[0], &byte, 1, MSG_DONTWAIT) < 0);
	(void)close(begin_body(f, "127.0.0.1"));
	/* The first one gave way. */
	assert_int_equal(recv(fds[0], &byte, 1, 0), 0);
	assert_true(recv(fds[1], &byte, 1, MSG_DONTWAIT) < 0);
	for (int i = 0; i < BODIES; i++) {
		(void)close(fds[i]);
	}
}

static void a_served_body_takes_no_room(void **state)
{
	struct fixture *f = *state;
	scoped_free char *text = xcalloc(sizeof(announce) + BODY, 1);

	memcpy(text, announce, sizeof(announce) - 1);
	memset(text + sizeof(announce) - 1, 'x', BODY);
	for (int i = 0; i < BODIES; i++) {
		f->hold = true;
		f->complete = false;
		send_bytes(f, text);
		run_until(&f->loop, &f->complete);
		httpd_reply(f->parked, 200, "text/plain", "", 0);
	}
	(void)close(begin_body(f, "127.0.0.1"));
}

/* ---- places ---- */

static int begin_wait(struct fixture *f)
{
	int fd = connect_to(f);

	f->complete = false;
	assert_int_equal(send(fd, wait_for, sizeof(wait_for) - 1, 0),
		sizeof(wait_for) - 1);
	run_until(&f->loop, &f->complete);
	f->complete = false;
	return fd;
}

static void a_peer_has_a_few_places_for_requests_that_wait(void **state)
{
	struct fixture *f = *state;
	int fds[HTTPD_PLACES_OF_PEER / HTTPD_PLACES_OF_WAIT + 1];
	size_t count = count_of(fds) - 1;

	for (size_t i = 0; i < count; i++) {
		fds[i] = begin_wait(f);
	}
	assert_non_null(strstr(ask(f, wait_for), "HTTP/1.1 429"));
	assert_non_null(strstr(f->got, "\r\nRetry-After: 1\r\n"));
	assert_non_null(strstr(f->got, "too many requests of this user"));
	/* A request without a place is served, and one that ends leaves its
	 * place to another. */
	hang_up(f);
	assert_non_null(
		strstr(ask(f, "GET /hello HTTP/1.1\r\n" CLOSE "\r\n"), "200"));
	httpd_reply(f->parked, 200, "text/plain", "", 0);
	fds[count] = begin_wait(f);
	for (size_t i = 0; i <= count; i++) {
		(void)close(fds[i]);
	}
}

static void a_handler_may_reply_later(void **state)
{
	struct fixture *f = *state;

	f->hold = true;
	send_bytes(f, "GET /hello HTTP/1.1\r\n" CLOSE "\r\n");
	run_until(&f->loop, &f->complete);
	assert_int_equal(f->got_len, 0);
	f->complete = false;
	httpd_reply(f->parked, 200, "text/plain", "later", 5);
	run_until(&f->loop, &f->complete);
	assert_non_null(strstr(f->got, "later"));
}

static void closing_replies_to_open_requests(void **state)
{
	struct fixture *f = *state;

	f->hold = true;
	send_bytes(f, "GET /hello HTTP/1.1\r\n" CLOSE "\r\n");
	run_until(&f->loop, &f->complete);
	f->complete = false;
	httpd_close(f->httpd);
	f->httpd = NULL;
	run_until(&f->loop, &f->complete);
}

static bool is_complete_later(void *owner)
{
	const struct fixture *f = owner;

	fake_clock_move(100000);
	return f->complete;
}

static void disconnects_a_client_that_never_completes_its_request(void **state)
{
	struct fixture *f = *state;

	send_bytes(f, "GET /hello HTTP/1.1\r\nX-Drip: a");
	run_until_true(&f->loop, is_complete_later, f);
	assert_int_equal(f->got_len, 0);
}

/* Responses stay in memory until they are read. */
static void clients_that_do_not_read_cannot_fill_the_memory(void **state)
{
	static const char request[] = "GET /big HTTP/1.1\r\n" CLOSE "\r\n";
	struct fixture *f = *state;
	int silent = connect_to(f);

	f->big = xcalloc(BIG, 1);
	assert_int_equal(send(silent, request, strlen(request), 0),
		(ssize_t)strlen(request));
	run_until(&f->loop, &f->served_big);
	assert_non_null(strstr(ask(f, request), "HTTP/1.1 503"));
	assert_non_null(strstr(f->got, "{\"error\":"));
	hang_up(f);
	assert_non_null(strstr(ask(f, "GET /hello HTTP/1.1\r\n" CLOSE "\r\n"),
		"hello nobody"));
	(void)close(silent);
	hang_up(f);
	/* The server notices the disconnect after a moment. */
	for (int i = 0;
		i < 1000 && strstr(ask(f, request), "HTTP/1.1 200") == NULL;
		i++) {
		hang_up(f);
	}
	assert_non_null(strstr(f->got, "HTTP/1.1 200"));
}

static void addresses_are_checked(void **state)
{
	struct fixture *f = *state;
	struct httpd *second = NULL;
	char taken[32];
	struct error err;

	(void)snprintf(taken, sizeof(taken), "127.0.0.1:%u",
		httpd_port(f->httpd));
	assert_int_equal(start_server(&second, f, taken, &err), -EADDRINUSE);
	assert_int_equal(start_server(&second, f, "7474", &err), -EINVAL);
	assert_int_equal(start_server(&second, f, "localhost:x", &err),
		-EINVAL);
	/* Modulo 65536 this is a valid port. */
	assert_int_equal(start_server(&second, f, "127.0.0.1:65536", &err),
		-EINVAL);
	assert_non_null(strstr(err.text, "65536"));
	assert_int_equal(start_server(&second, f, "127.0.0.1:http", &err),
		-EINVAL);
}

#define HTTPD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HTTPD_TEST(decodes_the_query),
		HTTPD_TEST(errors_are_a_sentence_in_json),
		HTTPD_TEST(counts_responses_by_the_class_of_their_status),
		HTTPD_TEST(a_body_reaches_the_handler),
		HTTPD_TEST(a_body_may_come_in_chunks),
		HTTPD_TEST(more_chunks_than_the_maximum_are_413),
		HTTPD_TEST(an_asterisk_is_one_segment),
		HTTPD_TEST(a_client_that_hangs_up_has_abandoned_its_request),
		HTTPD_TEST(the_headers_decide_about_a_body),
		HTTPD_TEST(a_body_that_is_not_read_is_no_request),
		HTTPD_TEST(a_client_may_wait_for_100_continue),
		HTTPD_TEST(a_body_beyond_the_sum_is_503),
		HTTPD_TEST(chunks_count_as_the_maximum_until_they_are_complete),
		HTTPD_TEST(one_address_does_not_take_the_room_of_all_bodies),
		HTTPD_TEST(a_served_body_takes_no_room),
		HTTPD_TEST(a_peer_has_a_few_places_for_requests_that_wait),
		HTTPD_TEST(a_handler_may_reply_later),
		HTTPD_TEST(closing_replies_to_open_requests),
		HTTPD_TEST(
			disconnects_a_client_that_never_completes_its_request),
		HTTPD_TEST(clients_that_do_not_read_cannot_fill_the_memory),
		HTTPD_TEST(addresses_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
