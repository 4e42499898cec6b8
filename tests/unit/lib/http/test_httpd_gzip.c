#include "lib/http/httpd_gzip.h"

#include "lib/buffer.h"
#include "lib/http/httpd.h"
#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/idle_clients.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#define ZLIB_CONST
#include <zlib.h>

enum { PARTS = 9, SHORT = 4096, WHOLE = 2700000 };

static const size_t part_bytes = WHOLE / PARTS;

struct fixture {
	uv_loop_t loop;
	struct httpd *httpd;
	char *text; /* WHOLE bytes, owned */
	size_t parts;
	struct buffer answer;
};

/* Digits, as in JSON, and nothing that repeats soon. */
static void fill(char *text, size_t len)
{
	uint32_t state = 1;

	for (size_t i = 0; i < len; i++) {
		state = state * 1664525 + 1013904223;
		text[i] = (char)('0' + (state >> 24) % 10);
	}
}

static bool next(void *owner, struct buffer *out)
{
	struct fixture *f = owner;

	buffer_append(out, f->text + f->parts * part_bytes, part_bytes);
	f->parts++;
	return f->parts < PARTS;
}

static void done(void *owner)
{
	((struct fixture *)owner)->parts = 0;
}

static void serve(void *owner, struct httpd_request *request)
{
	struct fixture *f = owner;
	const char *path = httpd_path(request);

	if (strcmp(path, "/stream") == 0) {
		assert_true(httpd_take_stream(request));
		httpd_reply_stream(request, 200, "application/json",
			&(struct httpd_stream){ next, done, f });
	} else if (strcmp(path, "/error") == 0) {
		httpd_reply_error(request, 404, "no");
	} else {
		httpd_reply(request, 200, "text/plain", f->text,
			strcmp(path, "/short") == 0 ? SHORT : WHOLE);
	}
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->text = xcalloc(1, WHOLE + 1);
	fill(f->text, WHOLE);
	f->answer = BUFFER_MAX(2 * (size_t)WHOLE);
	assert_int_equal(uv_loop_init(&f->loop), 0);
	assert_int_equal(
		httpd_new(&f->httpd, &f->loop,
			&(struct httpd_options){ .address = "127.0.0.1:0",
				.serve = serve,
				.owner = f },
			NULL),
		0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	httpd_close(f->httpd);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	buffer_fini(&f->answer);
	free(f->text);
	free(f);
	return 0;
}

static const char *ask(struct fixture *f, const char *method, const char *path)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(httpd_port(f->httpd)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	scoped_free char *text = xasprintf(
		"%s %s HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip, br\r\n"
		"%s\r\n",
		method, path,
		strcmp(method, "GET") == 0 ? "Connection: close\r\n" : "");
	scoped_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char bytes[65536];
	ssize_t len = 1;

	buffer_clear(&f->answer);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	while (len != 0) {
		(void)uv_run(&f->loop, UV_RUN_NOWAIT);
		len = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (len > 0) {
			buffer_append(&f->answer, bytes, (size_t)len);
		}
	}
	return f->answer.data;
}

/* Takes the chunks of a body together, in place; its length. */
static size_t unchunk(char *body)
{
	char *from = body;
	char *to = body;
	size_t len;

	while ((len = strtoul(from, &from, 16)) > 0) {
		memmove(to, from + 2, len);
		to += len;
		from += len + 4;
	}
	return (size_t)(to - body);
}

static void assert_whole(const struct fixture *f, const char *body, size_t len)
{
	scoped_free char *plain = xcalloc(1, WHOLE + 1);
	z_stream stream = { .next_in = (const Bytef *)body,
		.avail_in = (unsigned)len,
		.next_out = (Bytef *)plain,
		.avail_out = WHOLE + 1 };

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	assert_int_equal(stream.total_out, WHOLE);
	assert_memory_equal(plain, f->text, WHOLE);
	assert_int_equal(inflateEnd(&stream), Z_OK);
}

static void assert_compressed(struct fixture *f, const char *path)
{
	const char *answer = ask(f, "GET", path);
	char *body = strstr(answer, "\r\n\r\n") + 4;
	size_t len = unchunk(body);

	assert_non_null(strstr(answer, "\r\nContent-Encoding: gzip\r\n"));
	assert_non_null(strstr(answer, "\r\nVary: Accept-Encoding\r\n"));
	assert_true(len < WHOLE * 6 / 10);
	assert_whole(f, body, len);
}

static void a_long_answer_is_compressed(void **state)
{
	assert_compressed(*state, "/long");
}

static void a_streamed_answer_is_compressed(void **state)
{
	assert_compressed(*state, "/stream");
}

static void what_is_short_or_an_error_is_not(void **state)
{
	static const char *const paths[] = { "/short", "/error" };

	for (size_t i = 0; i < count_of(paths); i++) {
		const char *answer = ask(*state, "GET", paths[i]);

		assert_null(strstr(answer, "Content-Encoding"));
		assert_non_null(
			strstr(answer, "\r\nVary: Accept-Encoding\r\n"));
	}
}

/* The server closes the connection: what follows the headers is no part of
 * another response. */
static void a_head_request_gets_the_headers_of_the_get(void **state)
{
	static const char *const paths[] = { "/long", "/stream" };

	for (size_t i = 0; i < count_of(paths); i++) {
		const char *answer = ask(*state, "HEAD", paths[i]);

		assert_non_null(
			strstr(answer, "\r\nContent-Encoding: gzip\r\n"));
		assert_non_null(strstr(answer, "\r\nConnection: close\r\n"));
		assert_true(strlen(strstr(answer, "\r\n\r\n")) <=
			strlen("\r\n\r\n0\r\n\r\n"));
	}
}

/* A reader that takes little at a time makes nothing wait in memory. */
static void any_room_for_the_output_will_do(void **state)
{
	struct fixture *f = *state;
	struct httpd_gzip *gzip = httpd_gzip_new();
	scoped_buffer struct buffer out = BUFFER_MAX(WHOLE);
	size_t len, max = 1;

	for (size_t part = 0; part < PARTS; part++) {
		struct httpd_gzip_text text = { f->text + part * part_bytes,
			part_bytes, part == PARTS - 1 };
		char bytes[1000];

		while ((len = httpd_gzip_write(gzip, &text, bytes, max)) > 0) {
			assert_true(len <= max);
			buffer_append(&out, bytes, len);
			max = max % sizeof(bytes) + 1;
		}
		assert_int_equal(text.len, 0);
	}
	assert_whole(f, out.data, out.len);
	httpd_gzip_free(gzip);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_long_answer_is_compressed),
		test(a_streamed_answer_is_compressed),
		test(what_is_short_or_an_error_is_not),
		test(a_head_request_gets_the_headers_of_the_get),
		test(any_room_for_the_output_will_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
