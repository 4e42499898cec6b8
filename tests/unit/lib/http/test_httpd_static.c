#include "lib/http/httpd_static.h"

#include "tests/support/blocking_client.h"
#include "tests/support/idle_clients.h"

#include <stdlib.h>

enum { LARGE = 150000 };

static unsigned char large[LARGE];

static const struct httpd_static_file files[] = {
	{ "a.html", "0a1b", (const unsigned char *)"<p>plain",
		(const unsigned char *)"zipped", 8, 6 },
	{ "large.js", "2c", large, large, LARGE, LARGE },
	{ "b.unknown", "3d", (const unsigned char *)"b",
		(const unsigned char *)"z", 1, 1 },
};

struct fixture {
	uv_loop_t loop;
	struct httpd *httpd;
	struct blocking_client client;
};

static void serve(void *owner, struct httpd_request *request)
{
	(void)owner;
	httpd_static_serve(files, count_of(files), httpd_path(request) + 1,
		request);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	memset(large, 'x', sizeof(large));
	assert_int_equal(uv_loop_init(&f->loop), 0);
	assert_int_equal(
		httpd_new(&f->httpd, &f->loop,
			&(struct httpd_options){ .address = "127.0.0.1:0",
				.serve = serve },
			NULL),
		0);
	f->client.port = httpd_port(f->httpd);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	httpd_close(f->httpd);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	free(f);
	return 0;
}

static const char *ask(struct fixture *f, const char *method, const char *path,
	const char *header, int status)
{
	blocking_client_send(&f->client, &f->loop, method, path, header);
	run_until(&f->loop, &f->client.is_answered);
	blocking_client_check(&f->client, status);
	return f->client.answer;
}

static void assert_has(const char *answer, const char *text)
{
	if (strstr(answer, text) == NULL) {
		fail_msg("no '%s' in: %s", text, answer);
	}
}

static void assert_lacks(const char *answer, const char *text)
{
	if (strstr(answer, text) != NULL) {
		fail_msg("'%s' in: %s", text, answer);
	}
}

static void a_file_comes_with_headers_that_confine_it(void **state)
{
	static const char policy[] =
		"\r\nContent-Security-Policy: default-src 'self'; base-uri "
		"'none'; form-action 'none'; frame-ancestors 'none'; "
		"object-src 'none'\r\n";
	static const char *const lines[] = {
		policy,
		"\r\nContent-Type: text/html; charset=utf-8\r\n",
		"\r\nX-Content-Type-Options: nosniff\r\n",
		"\r\nReferrer-Policy: no-referrer\r\n",
		"\r\nCross-Origin-Opener-Policy: same-origin\r\n",
		"\r\nCache-Control: no-cache\r\n",
		"\r\nVary: Accept-Encoding\r\n",
		"\r\nETag: W/\"0a1b\"\r\n",
		"\r\nContent-Length: 8\r\n",
		"\r\n\r\n<p>plain",
	};
	const char *answer = ask(*state, "GET", "/a.html", "", 200);

	for (size_t i = 0; i < count_of(lines); i++) {
		assert_has(answer, lines[i]);
	}
	assert_lacks(answer, "Content-Encoding");
	assert_lacks(answer, "no-store");
}

static void a_client_that_takes_gzip_gets_it(void **state)
{
	const char *answer = ask(*state, "GET", "/a.html",
		"Accept-Encoding: br, gzip\r\n", 200);

	assert_has(answer, "\r\nContent-Encoding: gzip\r\n");
	assert_has(answer, "\r\nContent-Length: 6\r\n");
	assert_has(answer, "\r\n\r\nzipped");
}

static void a_client_that_has_the_file_gets_none(void **state)
{
	static const char *const headers[] = {
		"If-None-Match: W/\"0a1b\"\r\n",
		"If-None-Match: \"x\", \"0a1b\"\r\n",
		"If-None-Match: *\r\nAccept-Encoding: gzip\r\n",
	};
	const char *answer;

	for (size_t i = 0; i < count_of(headers); i++) {
		answer = ask(*state, "GET", "/a.html", headers[i], 304);
		assert_has(answer, "\r\nETag: W/\"0a1b\"\r\n");
		assert_has(answer, "\r\nCache-Control: no-cache\r\n");
		assert_lacks(answer, "Content-Encoding");
		assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
	}
	(void)ask(*state, "GET", "/a.html", "If-None-Match: \"0a1\"\r\n", 200);
}

static void a_head_request_gets_the_headers_alone(void **state)
{
	const char *answer = ask(*state, "HEAD", "/large.js", "", 200);

	assert_has(answer, "\r\nContent-Length: 150000\r\n");
	assert_has(answer, "\r\nContent-Type: text/javascript");
	assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
}

static void a_file_that_does_not_exist_is_404(void **state)
{
	static const char *const paths[] = { "/", "/a.htm", "/a.html/",
		"/../a.html", "/A.html" };

	for (size_t i = 0; i < count_of(paths); i++) {
		assert_has(ask(*state, "GET", paths[i], "", 404),
			"{\"error\":\"the page has no file '");
	}
	assert_has(ask(*state, "GET", "/b.unknown", "", 200),
		"\r\nContent-Type: application/octet-stream\r\n");
}

/* Longer than the parts that it is read in. */
static void a_large_file_is_whole(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(f->client.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	static const char request[] =
		"GET /large.js HTTP/1.1\r\nHost: x\r\nConnection: "
		"close\r\n\r\n";
	scoped_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	scoped_free char *got = xcalloc(1, LARGE + 4096);
	size_t len = 0;
	ssize_t r = 1;

	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(write(fd, request, strlen(request)), strlen(request));
	while (r != 0) {
		(void)uv_run(&f->loop, UV_RUN_NOWAIT);
		r = recv(fd, got + len, LARGE + 4095 - len, MSG_DONTWAIT);
		len += r > 0 ? (size_t)r : 0;
	}
	assert_int_equal(strlen(strstr(got, "\r\n\r\n") + 4), LARGE);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_file_comes_with_headers_that_confine_it),
		test(a_client_that_takes_gzip_gets_it),
		test(a_client_that_has_the_file_gets_none),
		test(a_head_request_gets_the_headers_alone),
		test(a_file_that_does_not_exist_is_404),
		test(a_large_file_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
