#include "agent/health.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/memory.h"
#include "tests/support/cm.h"

struct scene {
	uv_loop_t loop;
	struct health *health;
	bool works;
};

static bool describe(void *owner, struct buffer *out)
{
	const struct scene *s = owner;

	buffer_text(out, "7 reports made");
	return s->works;
}

static void begin(struct scene *s, const char *address)
{
	*s = (struct scene){ .works = true };
	assert_int_equal(uv_loop_init(&s->loop), 0);
	assert_int_equal(
		health_new(&s->health, &s->loop, address, describe, s, NULL),
		0);
}

static void end(struct scene *s)
{
	health_close(s->health);
	(void)uv_run(&s->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&s->loop), 0);
}

static int connect_to(const struct scene *s)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_port = htons(health_port(s->health)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)),
		0);
	return fd;
}

static void say(int fd, const char *text)
{
	size_t len = strlen(text);

	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
}

/* Reads until the listener closes the connection, which it must. */
static const char *hear(struct scene *s, int fd)
{
	static char text[2048];
	size_t len = 0;
	ssize_t got = 1;

	while (got != 0) {
		got = recv(fd, text + len, sizeof(text) - 1 - len,
			MSG_DONTWAIT);
		if (got < 0 && errno == EAGAIN) {
			(void)uv_run(&s->loop, UV_RUN_ONCE);
		} else if (got < 0) {
			assert_int_equal(errno, ECONNRESET);
			got = 0;
		}
		len += got > 0 ? (size_t)got : 0;
	}
	text[len] = '\0';
	(void)close(fd);
	return text;
}

static const char *ask(struct scene *s, const char *request)
{
	int fd = connect_to(s);

	say(fd, request);
	return hear(s, fd);
}

static void says_whether_the_agent_works(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, "127.0.0.1:0");
	assert_string_equal(ask(&s, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"),
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
		"Content-Length: 15\r\nConnection: close\r\n\r\n"
		"7 reports made\n");
	s.works = false;
	assert_non_null(strstr(ask(&s, "GET /readyz HTTP/1.1\r\n\r\n"),
		"503 Service Unavailable"));
	assert_non_null(strstr(ask(&s, "GET /livez?a HTTP/1.1\r\n\r\n"),
		"503 Service Unavailable"));
	end(&s);
}

static void another_request_is_not_found(void **state)
{
	static const char *const requests[] = {
		"GET / HTTP/1.1\r\n\r\n",
		"GET /healthz2 HTTP/1.1\r\n\r\n",
		"POST /healthz HTTP/1.1\r\n\r\n",
		"\r\n\r\n",
		"GET /healthz\r\n\r\n",
	};
	struct scene s;

	(void)state;
	begin(&s, "127.0.0.1:0");
	for (size_t i = 0; i < count_of(requests); i++) {
		assert_non_null(strstr(ask(&s, requests[i]), "404 Not Found"));
	}
	end(&s);
}

static void a_request_may_come_in_parts(void **state)
{
	struct scene s;
	int fd;

	(void)state;
	begin(&s, "127.0.0.1:0");
	fd = connect_to(&s);
	say(fd, "GET /heal");
	/* The second one is answered after the first part has been read. */
	assert_non_null(
		strstr(ask(&s, "GET /healthz HTTP/1.1\r\n\r\n"), "200 OK"));
	say(fd, "thz HTTP/1.1\r\n\r\n");
	assert_non_null(strstr(hear(&s, fd), "200 OK"));
	end(&s);
}

static void a_request_without_end_is_closed(void **state)
{
	char much[HEALTH_REQUEST_MAX + 1];
	struct scene s;

	(void)state;
	begin(&s, "127.0.0.1:0");
	memset(much, 'x', sizeof(much));
	much[sizeof(much) - 1] = '\0';
	assert_string_equal(ask(&s, much), "");
	assert_non_null(
		strstr(ask(&s, "GET /healthz HTTP/1.1\r\n\r\n"), "200 OK"));
	end(&s);
}

static void the_oldest_connection_makes_way(void **state)
{
	int idle[HEALTH_CLIENTS];
	struct scene s;

	(void)state;
	begin(&s, "127.0.0.1:0");
	for (size_t i = 0; i < HEALTH_CLIENTS; i++) {
		idle[i] = connect_to(&s);
	}
	assert_non_null(
		strstr(ask(&s, "GET /healthz HTTP/1.1\r\n\r\n"), "200 OK"));
	assert_string_equal(hear(&s, idle[0]), "");
	say(idle[1], "GET /healthz HTTP/1.1\r\n\r\n");
	assert_non_null(strstr(hear(&s, idle[1]), "200 OK"));
	for (size_t i = 2; i < HEALTH_CLIENTS; i++) {
		(void)close(idle[i]);
	}
	end(&s);
}

static void without_a_host_all_addresses_are_served(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, ":0");
	assert_non_null(
		strstr(ask(&s, "GET /healthz HTTP/1.1\r\n\r\n"), "200 OK"));
	end(&s);
}

static void an_address_that_is_taken_is_named(void **state)
{
	struct health *second = NULL;
	struct error err;
	char address[32];
	struct scene s;

	(void)state;
	begin(&s, "127.0.0.1:0");
	(void)snprintf(address, sizeof(address), "127.0.0.1:%u",
		(unsigned)health_port(s.health));
	assert_int_equal(
		health_new(&second, &s.loop, address, describe, &s, &err),
		-EADDRINUSE);
	assert_non_null(strstr(err.text, address));
	assert_int_equal(
		health_new(&second, &s.loop, "here:1", describe, &s, &err),
		-EINVAL);
	assert_string_equal(err.text, "'here:1' is not an address");
	health_close(second);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_whether_the_agent_works),
		cmocka_unit_test(another_request_is_not_found),
		cmocka_unit_test(a_request_may_come_in_parts),
		cmocka_unit_test(a_request_without_end_is_closed),
		cmocka_unit_test(the_oldest_connection_makes_way),
		cmocka_unit_test(without_a_host_all_addresses_are_served),
		cmocka_unit_test(an_address_that_is_taken_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
