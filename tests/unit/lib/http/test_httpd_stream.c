#include "lib/http/httpd_stream.h"

#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/idle_clients.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* More than the socket buffers hold, so that a client that does not read stops
 * the stream. */
enum { PARTS = 100, PART_BYTES = 200000 };

struct fixture {
	uv_loop_t loop;
	struct httpd *httpd;
	int parts, dones;
	int break_at; /* the part that is too large, or -1 */
	bool is_done, is_begun;
	bool is_stuck; /* the source never has anything to give */
	bool has_user; /* the path names the user */
	size_t open;   /* streams */
	int fd;
	uv_poll_t poll;
	size_t got, letters;
	char end[6]; /* the last bytes */
	bool is_closed;
};

struct source {
	struct fixture *f;
	int parts;
};

/* Every other call gives nothing. */
static bool next(void *owner, struct buffer *out)
{
	struct source *source = owner;
	struct fixture *f = source->f;
	scoped_free char *part = xcalloc(PART_BYTES, 1);

	f->is_begun = true;
	if (f->is_stuck) {
		return true;
	}
	f->parts++;
	source->parts++;
	if (source->parts % 2 == 1) {
		return true;
	}
	memset(part, 'x', PART_BYTES);
	for (int i = 0; i < (source->parts / 2 == f->break_at ? 30 : 1); i++) {
		buffer_append(out, part, PART_BYTES);
	}
	return source->parts < 2 * PARTS;
}

static void done(void *owner)
{
	struct source *source = owner;
	struct fixture *f = source->f;

	free(source);
	f->dones++;
	f->open--;
	f->is_done = true;
}

static void serve(void *owner, struct httpd_request *request)
{
	struct fixture *f = owner;
	struct source *source;

	if (f->has_user) {
		httpd_set_user(request, httpd_path(request));
	}
	if (httpd_take_stream(request)) {
		source = xcalloc(1, sizeof(*source));
		source->f = f;
		f->open++;
		httpd_reply_stream(request, 200, "text/plain",
			&(struct httpd_stream){ next, done, source });
	}
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	assert_int_equal(uv_loop_init(&f->loop), 0);
	assert_int_equal(
		httpd_new(&f->httpd, &f->loop,
			&(struct httpd_options){ .address = "127.0.0.1:0",
				.serve = serve,
				.owner = f },
			NULL),
		0);
	f->break_at = -1;
	f->fd = -1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	httpd_close(f->httpd);
	if (f->poll.data != NULL) {
		uv_close((uv_handle_t *)&f->poll, NULL);
	}
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	if (f->fd >= 0) {
		(void)close(f->fd);
	}
	assert_int_equal(uv_loop_close(&f->loop), 0);
	assert_int_equal(f->open, 0);
	assert_true(f->dones > 0);
	free(f);
	return 0;
}

static void note_end(struct fixture *f, const char *bytes, size_t len)
{
	size_t keep = len < 5 ? len : 5;

	memmove(f->end, f->end + keep, 5 - keep);
	memcpy(f->end + 5 - keep, bytes + len - keep, keep);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct fixture *f = poll->data;
	char bytes[65536];
	ssize_t len = recv(f->fd, bytes, sizeof(bytes), 0);

	(void)status;
	(void)events;
	if (len <= 0) {
		f->is_closed = true;
		uv_poll_stop(poll);
		return;
	}
	f->got += (size_t)len;
	note_end(f, bytes, (size_t)len);
	for (ssize_t i = 0; i < len; i++) {
		f->letters += bytes[i] == 'x' ? 1 : 0;
	}
}

static void send_from(struct fixture *f, const char *address,
	const char *method, const char *path)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(httpd_port(f->httpd)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	char text[100];
	int len = snprintf(text, sizeof(text),
		"%s %s HTTP/1.1\r\nHost: y\r\nConnection: close\r\n\r\n",
		method, path);

	f->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(inet_pton(AF_INET, address, &from.sin_addr), 1);
	assert_int_equal(bind(f->fd, (struct sockaddr *)&from, sizeof(from)),
		0);
	assert_int_equal(connect(f->fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(send(f->fd, text, (size_t)len, 0), len);
}

static void send_request(struct fixture *f, const char *method)
{
	send_from(f, "127.0.0.1", method, "/");
}

static void read_answer(struct fixture *f)
{
	assert_int_equal(uv_poll_init(&f->loop, &f->poll, f->fd), 0);
	f->poll.data = f;
	assert_int_equal(uv_poll_start(&f->poll, UV_READABLE, on_readable), 0);
	run_until(&f->loop, &f->is_closed);
	run_until(&f->loop, &f->is_done);
}

static void ask(struct fixture *f, const char *method)
{
	send_request(f, method);
	read_answer(f);
}

/* All streams are open, and none of their clients reads. */
static void take_all_streams(struct fixture *f, int fds[HTTPD_STREAMS],
	const char *address, const char *path)
{
	for (size_t i = 0; i < HTTPD_STREAMS; i++) {
		send_from(f, address, "GET", path);
		fds[i] = f->fd;
		while (f->open <= i) {
			(void)uv_run(&f->loop, UV_RUN_ONCE);
		}
	}
}

static void close_all(const int fds[HTTPD_STREAMS])
{
	for (size_t i = 0; i < HTTPD_STREAMS; i++) {
		(void)close(fds[i]);
	}
}

static void one_address_does_not_take_all_streams(void **state)
{
	struct fixture *f = *state;
	int fds[HTTPD_STREAMS];

	take_all_streams(f, fds, "127.0.0.2", "/");
	ask(f, "GET");
	assert_int_equal(f->letters / PART_BYTES, PARTS);
	close_all(fds);
}

static void one_user_does_not_take_all_streams(void **state)
{
	struct fixture *f = *state;
	int fds[HTTPD_STREAMS];

	f->has_user = true;
	take_all_streams(f, fds, "127.0.0.1", "/a");
	send_from(f, "127.0.0.1", "GET", "/b");
	read_answer(f);
	assert_int_equal(f->letters / PART_BYTES, PARTS);
	close_all(fds);
}

/* Above the limit, one's own streams give way only if nobody reads them. */
static void the_same_address_gets_no_further_stream(void **state)
{
	struct fixture *f = *state;
	int fds[HTTPD_STREAMS];

	f->is_stuck = true;
	take_all_streams(f, fds, "127.0.0.1", "/");
	send_request(f, "GET");
	assert_int_equal(uv_poll_init(&f->loop, &f->poll, f->fd), 0);
	f->poll.data = f;
	assert_int_equal(uv_poll_start(&f->poll, UV_READABLE, on_readable), 0);
	run_until(&f->loop, &f->is_closed);
	assert_int_equal(f->letters, 0);
	assert_int_equal(f->open, HTTPD_STREAMS);
	close_all(fds);
}

static void every_part_arrives(void **state)
{
	struct fixture *f = *state;

	ask(f, "GET");
	assert_int_equal(f->letters / PART_BYTES, PARTS);
	assert_string_equal(f->end, "0\r\n\r\n");
}

/* Without the last chunk a client knows that the response is incomplete. */
static void an_aborted_stream_does_not_look_complete(void **state)
{
	struct fixture *f = *state;

	f->break_at = 3;
	ask(f, "GET");
	assert_int_equal(f->letters / PART_BYTES, 2);
	assert_string_not_equal(f->end, "0\r\n\r\n");
}

static void a_head_request_gets_no_part(void **state)
{
	struct fixture *f = *state;

	ask(f, "HEAD");
	assert_int_equal(f->parts, 0);
	assert_true(f->letters < 10); /* of the headers */
}

static void a_disconnect_ends_the_stream(void **state)
{
	struct fixture *f = *state;

	send_request(f, "GET");
	run_until(&f->loop, &f->is_begun);
	(void)close(f->fd);
	f->fd = -1;
	run_until(&f->loop, &f->is_done);
	assert_true(f->parts < 2 * PARTS);
}

static void closing_the_server_ends_the_stream(void **state)
{
	struct fixture *f = *state;

	send_request(f, "GET");
	run_until(&f->loop, &f->is_begun);
	httpd_close(f->httpd);
	f->httpd = NULL;
	assert_int_equal(f->dones, 1);
}

static void closing_the_server_waits_for_no_part(void **state)
{
	struct fixture *f = *state;

	f->is_stuck = true;
	send_request(f, "GET");
	run_until(&f->loop, &f->is_begun);
	httpd_close(f->httpd);
	f->httpd = NULL;
	assert_int_equal(f->dones, 1);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(every_part_arrives),
		test(an_aborted_stream_does_not_look_complete),
		test(a_head_request_gets_no_part),
		test(a_disconnect_ends_the_stream),
		test(one_address_does_not_take_all_streams),
		test(one_user_does_not_take_all_streams),
		test(the_same_address_gets_no_further_stream),
		test(closing_the_server_ends_the_stream),
		test(closing_the_server_waits_for_no_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
