/* The HTTP client against a small server on the same loop, which answers with
 * bytes the test wrote. TLS is tested against a real API server elsewhere. */
#include "kube/http.h"

#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the server ---- */

struct server {
	uv_loop_t loop;
	uv_tcp_t listener;
	uv_stream_t *peer; /* who connected last */
	char url[64];
	const char *script;  /* the answer to each request; NULL: silence */
	struct buffer asked; /* what was received */
	unsigned accepted;
	struct http_client *client;
};

static void say(uv_stream_t *peer, const char *text)
{
	scoped_free char *copy = xstrdup(text);
	uv_buf_t bytes = uv_buf_init(copy, (unsigned)strlen(copy));

	assert_int_equal(uv_try_write(peer, &bytes, 1), strlen(text));
}

static void on_closed(uv_handle_t *handle)
{
	free(handle);
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *out)
{
	(void)handle;
	*out = uv_buf_init(xcalloc(size, 1), (unsigned)size);
}

static void on_read(uv_stream_t *peer, ssize_t len, const uv_buf_t *bytes)
{
	struct server *s = peer->data;

	if (len > 0) {
		buffer_append(&s->asked, bytes->base, (size_t)len);
	}
	free(bytes->base);
	if (len < 0) {
		uv_close((uv_handle_t *)peer, on_closed);
	} else if (s->script != NULL && s->asked.len > 0 &&
		strstr(s->asked.data, "\r\n\r\n") != NULL) {
		say(peer, s->script);
	}
}

static void on_peer(uv_stream_t *listener, int status)
{
	struct server *s = listener->data;
	uv_tcp_t *peer = xcalloc(1, sizeof(*peer));

	assert_int_equal(status, 0);
	assert_int_equal(uv_tcp_init(&s->loop, peer), 0);
	peer->data = s;
	s->peer = (uv_stream_t *)peer;
	s->accepted++;
	assert_int_equal(uv_accept(listener, s->peer), 0);
	assert_int_equal(uv_read_start(s->peer, on_room, on_read), 0);
}

static int set_up(void **state)
{
	struct server *s = xcalloc(1, sizeof(*s));
	struct sockaddr_in address;
	int len = sizeof(address);

	assert_int_equal(uv_loop_init(&s->loop), 0);
	assert_int_equal(uv_tcp_init(&s->loop, &s->listener), 0);
	s->listener.data = s;
	s->asked = BUFFER_MAX(10000);
	assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &address), 0);
	assert_int_equal(
		uv_tcp_bind(&s->listener, (const struct sockaddr *)&address, 0),
		0);
	assert_int_equal(uv_listen((uv_stream_t *)&s->listener, 8, on_peer), 0);
	assert_int_equal(uv_tcp_getsockname(&s->listener,
				 (struct sockaddr *)&address, &len),
		0);
	(void)snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%d/a/../b",
		ntohs(address.sin_port));
	s->client = http_client_new(&s->loop, "tester/1");
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct server *s = *state;

	/* Ends the connections, and so the handles of the peers. */
	http_client_close(s->client);
	uv_close((uv_handle_t *)&s->listener, NULL);
	(void)uv_run(&s->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&s->loop), 0);
	buffer_fini(&s->asked);
	free(s);
	return 0;
}

/* ---- what came back ---- */

enum action { GO_ON, CANCEL, CLOSE };

struct heard {
	struct server *server;
	struct http_transfer *transfer;
	bool has_begun;
	bool is_over;
	bool has_bytes;
	int status;
	uint64_t retry_after_ms;
	bool is_too_large;
	char body[200];
	char error[300];
	enum action on_bytes;
	enum action on_end;
};

static void act(struct heard *heard, enum action action)
{
	if (action == CANCEL) {
		http_cancel(take_ptr(heard->transfer));
	} else if (action == CLOSE) {
		http_client_close(take_ptr(heard->server->client));
	}
}

static void on_chunk(void *owner, const char *bytes, size_t len)
{
	struct heard *heard = owner;

	assert_non_null(heard->transfer);
	if (!heard->has_begun) {
		assert_int_equal(len, 0);
		heard->has_begun = true;
		return;
	}
	assert_true(len > 0);
	strncat(heard->body, bytes, len);
	heard->has_bytes = true;
	act(heard, heard->on_bytes);
}

static void on_done(void *owner, const struct http_answer *answer)
{
	struct heard *heard = owner;

	assert_non_null(heard->transfer);
	assert_false(heard->is_over);
	assert_int_equal(strlen(answer->body), answer->len);
	heard->is_over = true;
	heard->status = answer->status;
	heard->retry_after_ms = answer->retry_after_ms;
	heard->is_too_large = answer->is_too_large;
	strncat(heard->body, answer->body, sizeof(heard->body) - 1);
	strncat(heard->error, answer->error, sizeof(heard->error) - 1);
	act(heard, heard->on_end);
}

static struct http_call call_of(struct server *s, struct heard *heard)
{
	heard->server = s;
	return (struct http_call){
		.method = "GET",
		.url = s->url,
		.allows_plain = true,
		.timeout_ms = 5000,
		.max = 100,
		.on_done = on_done,
		.owner = heard,
	};
}

static void start(struct server *s, const struct http_call *call)
{
	struct heard *heard = call->owner;

	assert_null(heard->transfer);
	heard->transfer = http_send(s->client, call);
}

static void ask(struct server *s, struct heard *heard)
{
	struct http_call call = call_of(s, heard);

	start(s, &call);
	run_until(&s->loop, &heard->is_over);
}

static void start_stream(struct server *s, struct heard *heard)
{
	struct http_call call = call_of(s, heard);

	call.on_chunk = on_chunk;
	start(s, &call);
}

/* ---- the tests ---- */

static void keeps_a_connection_for_the_next_request(void **state)
{
	struct server *s = *state;

	s->script = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
	for (int i = 0; i < 3; i++) {
		struct heard heard = { 0 };

		buffer_clear(&s->asked);
		ask(s, &heard);
		assert_int_equal(heard.status, 200);
		assert_string_equal(heard.body, "hello");
		assert_string_equal(heard.error, "");
	}
	assert_int_equal(s->accepted, 1);
	assert_non_null(strstr(s->asked.data, "GET /a/../b HTTP/1.1\r\n"));
	assert_non_null(strstr(s->asked.data, "User-Agent: tester/1\r\n"));
}

static void sends_method_headers_and_body(void **state)
{
	static const char *const headers[] = { "Content-Type: text/x",
		"X-Other: 1", NULL };
	struct server *s = *state;
	struct heard heard = { 0 };
	struct http_call call = call_of(s, &heard);

	s->script = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
	call.method = "PATCH";
	call.headers = headers;
	call.body = "a\nb";
	call.len = 3;
	start(s, &call);
	run_until(&s->loop, &heard.is_over);
	assert_int_equal(heard.status, 201);
	assert_non_null(strstr(s->asked.data, "PATCH /a/../b HTTP/1.1\r\n"));
	assert_non_null(strstr(s->asked.data, "Content-Type: text/x\r\n"));
	assert_non_null(strstr(s->asked.data, "X-Other: 1\r\n"));
	assert_non_null(strstr(s->asked.data, "\r\n\r\na\nb"));
	assert_null(strstr(s->asked.data, "Expect"));
}

static void tells_a_status_with_its_body_and_when_to_return(void **state)
{
	struct server *s = *state;
	struct heard heard = { 0 };

	s->script =
		"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\n"
		"Content-Length: 2\r\n\r\nno";
	ask(s, &heard);
	assert_int_equal(heard.status, 429);
	assert_int_equal(heard.retry_after_ms, 7000);
	assert_string_equal(heard.body, "no");
}

static void does_not_follow_a_redirect(void **state)
{
	struct server *s = *state;
	struct heard heard = { 0 };

	s->script =
		"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"
		"Content-Length: 0\r\n\r\n";
	ask(s, &heard);
	assert_int_equal(heard.status, 302);
}

static void refuses_a_larger_answer_than_allowed(void **state)
{
	struct server *s = *state;
	struct heard heard = { 0 };
	struct http_call call = call_of(s, &heard);

	s->script = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
	call.max = 4;
	start(s, &call);
	run_until(&s->loop, &heard.is_over);
	assert_int_equal(heard.status, 0);
	assert_non_null(strstr(heard.error, "is larger than 4 bytes"));
	assert_true(heard.is_too_large);
	assert_string_equal(heard.body, "");
}

static void refuses_plain_http_unless_allowed(void **state)
{
	struct server *s = *state;
	struct heard heard = { 0 };
	struct http_call call = call_of(s, &heard);

	call.allows_plain = false;
	start(s, &call);
	run_until(&s->loop, &heard.is_over);
	assert_int_equal(heard.status, 0);
	assert_int_equal(s->accepted, 0);
	assert_non_null(strstr(heard.error, "cannot reach 'http://127.0.0.1:"));
}

static void says_when_nobody_listens(void **state)
{
	struct server *s = *state;
	struct heard heard = { 0 };
	struct http_call call = call_of(s, &heard);

	call.url = "http://127.0.0.1:1/secret";
	start(s, &call);
	assert_false(heard.is_over);
	run_until(&s->loop, &heard.is_over);
	assert_int_equal(heard.status, 0);
	assert_non_null(
		strstr(heard.error, "cannot reach 'http://127.0.0.1:1'"));
	assert_null(strstr(heard.error, "secret"));
}

static void gives_up_when_time_is_over(void **state)
{
	struct server *s = *state;
	struct heard heard = { 0 };
	struct http_call call = call_of(s, &heard);

	call.timeout_ms = 50;
	start(s, &call);
	run_until(&s->loop, &heard.is_over);
	assert_int_equal(heard.status, 0);
	assert_non_null(strstr(heard.error, "no answer from"));
}

static void says_when_the_peer_hangs_up_in_the_middle(void **state)
{
	struct server *s = *state;
	struct heard heard = { 0 };

	s->script = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe";
	start_stream(s, &heard);
	run_until(&s->loop, &heard.has_bytes);
	uv_close((uv_handle_t *)s->peer, on_closed);
	run_until(&s->loop, &heard.is_over);
	assert_int_equal(heard.status, 0);
	assert_string_equal(heard.body, "he");
}

static void streams_bytes_as_they_come(void **state)
{
	struct server *s = *state;
	struct heard heard = { 0 };

	s->script = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
	start_stream(s, &heard);
	run_until(&s->loop, &heard.has_begun);
	assert_false(heard.has_bytes);
	say(s->peer, "3\r\nabc\r\n");
	run_until(&s->loop, &heard.has_bytes);
	assert_string_equal(heard.body, "abc");
	say(s->peer, "2\r\nde\r\n0\r\n\r\n");
	run_until(&s->loop, &heard.is_over);
	assert_string_equal(heard.body, "abcde");
	assert_int_equal(heard.status, 200);
}

static void collects_what_is_no_stream(void **state)
{
	struct server *s = *state;
	struct heard heard = { 0 };

	s->script = "HTTP/1.1 410 Gone\r\nContent-Length: 3\r\n\r\nold";
	start_stream(s, &heard);
	run_until(&s->loop, &heard.is_over);
	assert_false(heard.has_begun);
	assert_int_equal(heard.status, 410);
	assert_string_equal(heard.body, "old");
}

static void is_silent_once_cancelled(void **state)
{
	struct server *s = *state;
	struct heard first = { .on_bytes = CANCEL };
	struct heard second = { 0 };
	struct heard third = { 0 };

	s->script = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
	start_stream(s, &first);
	run_until(&s->loop, &first.has_bytes);
	start_stream(s, &second);
	http_cancel(second.transfer);
	ask(s, &third);
	assert_false(first.is_over);
	assert_false(second.is_over);
	assert_int_equal(third.status, 200);
}

static void may_be_closed_from_its_callbacks(void **state)
{
	struct heard stream = { .on_bytes = CLOSE };
	struct heard other = { 0 };
	struct heard end = { .on_end = CLOSE };
	struct server *s = *state;

	s->script = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
	start_stream(s, &stream);
	start_stream(s, &other);
	run_until(&s->loop, &stream.has_bytes);
	assert_null(s->client);
	assert_false(stream.is_over);
	s->client = http_client_new(&s->loop, "tester/2");
	ask(s, &end);
	assert_null(s->client);
}

#define with_server(test)                                                      \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_server(keeps_a_connection_for_the_next_request),
		with_server(sends_method_headers_and_body),
		with_server(tells_a_status_with_its_body_and_when_to_return),
		with_server(does_not_follow_a_redirect),
		with_server(refuses_a_larger_answer_than_allowed),
		with_server(refuses_plain_http_unless_allowed),
		with_server(says_when_nobody_listens),
		with_server(gives_up_when_time_is_over),
		with_server(says_when_the_peer_hangs_up_in_the_middle),
		with_server(streams_bytes_as_they_come),
		with_server(collects_what_is_no_stream),
		with_server(is_silent_once_cancelled),
		with_server(may_be_closed_from_its_callbacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
