/* The HTTP client with a small server on the same loop that sends bytes from
 * the test. The end-to-end tests cover TLS with a real API server. */
#include "kube/http.h"

#include "kube/http_queue.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"

#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

static const char secret[] = "the-key-of-an-authority";
static size_t secrets_freed;

void __real_free(void *block);
void __wrap_free(void *block);
void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);

static void look_into(void *block)
{
	if (block != NULL &&
		memmem(block, malloc_usable_size(block), secret,
			strlen(secret)) != NULL) {
		secrets_freed++;
	}
}

void __wrap_free(void *block)
{
	look_into(block);
	__real_free(block);
}

void *__wrap_realloc(void *block, size_t size)
{
	look_into(block); /* its bytes stay where they were if it moves */
	return __real_realloc(block, size);
}

/* ---- how many sockets begin to be watched ---- */

static unsigned watches;

int __real_uv_poll_init_socket(uv_loop_t *loop, uv_poll_t *poll,
	uv_os_sock_t fd);
int __wrap_uv_poll_init_socket(uv_loop_t *loop, uv_poll_t *poll,
	uv_os_sock_t fd);

int __wrap_uv_poll_init_socket(uv_loop_t *loop, uv_poll_t *poll,
	uv_os_sock_t fd)
{
	watches++;
	return __real_uv_poll_init_socket(loop, poll, fd);
}

/* ---- the server ---- */

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

struct server {
	uv_loop_t loop;
	uv_tcp_t listener;
	uv_stream_t *peer; /* the latest connection */
	char url[64];
	const char *script;	/* the response to each request; NULL: none */
	struct buffer received; /* the received requests */
	unsigned accepted;
	unsigned requests; /* each arrives in one read */
	struct http_client *client;
};

static void send_text(uv_stream_t *peer, const char *text)
{
	char *copy = xstrdup(text);
	uv_buf_t bytes = uv_buf_init(copy, (unsigned)strlen(copy));

	assert_int_equal(uv_try_write(peer, &bytes, 1), strlen(text));
	secret_free(copy);
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
		buffer_append(&s->received, bytes->base, (size_t)len);
		s->requests++;
	}
	free(bytes->base);
	if (len < 0) {
		uv_close((uv_handle_t *)peer, on_closed);
	} else if (s->script != NULL && s->received.len > 0 &&
		strstr(s->received.data, "\r\n\r\n") != NULL) {
		send_text(peer, s->script);
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
	s->received = BUFFER_MAX(20000);
	assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &address), 0);
	assert_int_equal(
		uv_tcp_bind(&s->listener, (const struct sockaddr *)&address, 0),
		0);
	assert_int_equal(uv_listen((uv_stream_t *)&s->listener, 64, on_peer),
		0);
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

	/* Closes the connections and with them the handles of the peers. */
	http_client_close(s->client);
	uv_close((uv_handle_t *)&s->listener, NULL);
	(void)uv_run(&s->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&s->loop), 0);
	buffer_fini(&s->received);
	free(s);
	return 0;
}

/* ---- the responses ---- */

enum action { CONTINUE, CANCEL, CLOSE };

struct result {
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

static void act(struct result *result, enum action action)
{
	if (action == CANCEL) {
		http_cancel(take_ptr(result->transfer));
	} else if (action == CLOSE) {
		http_client_close(take_ptr(result->server->client));
	}
}

static void on_chunk(void *owner, const char *bytes, size_t len)
{
	struct result *result = owner;

	assert_non_null(result->transfer);
	if (!result->has_begun) {
		assert_int_equal(len, 0);
		result->has_begun = true;
		return;
	}
	assert_true(len > 0);
	strncat(result->body, bytes, len);
	result->has_bytes = true;
	act(result, result->on_bytes);
}

static void on_done(void *owner, const struct http_response *response)
{
	struct result *result = owner;

	assert_non_null(result->transfer);
	assert_false(result->is_over);
	assert_int_equal(strlen(response->body), response->len);
	result->is_over = true;
	result->status = response->status;
	result->retry_after_ms = response->retry_after_ms;
	result->is_too_large = response->is_too_large;
	strncat(result->body, response->body, sizeof(result->body) - 1);
	strncat(result->error, response->error, sizeof(result->error) - 1);
	act(result, result->on_end);
}

static struct http_call call_of(struct server *s, struct result *result)
{
	result->server = s;
	return (struct http_call){
		.method = "GET",
		.url = s->url,
		.allows_plain = true,
		.timeout_ms = PATIENCE_S * UINT64_C(1000),
		.max = 100,
		.on_done = on_done,
		.owner = result,
	};
}

static void start(struct server *s, const struct http_call *call)
{
	struct result *result = call->owner;

	assert_null(result->transfer);
	result->transfer = http_send(s->client, call);
}

static void run(struct server *s, const struct http_call *call)
{
	start(s, call);
	run_until(&s->loop, &((struct result *)call->owner)->is_over);
}

static void get(struct server *s, struct result *result)
{
	struct http_call call = call_of(s, result);

	run(s, &call);
}

static void start_stream(struct server *s, struct result *result)
{
	struct http_call call = call_of(s, result);

	call.on_chunk = on_chunk;
	start(s, &call);
}

/* ---- the tests ---- */

static void keeps_a_connection_for_the_next_request(void **state)
{
	struct server *s = *state;

	s->script = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
	for (int i = 0; i < 3; i++) {
		struct result result = { 0 };

		buffer_clear(&s->received);
		get(s, &result);
		assert_int_equal(result.status, 200);
		assert_string_equal(result.body, "hello");
		assert_string_equal(result.error, "");
	}
	assert_int_equal(s->accepted, 1);
	assert_non_null(strstr(s->received.data, "GET /a/../b HTTP/1.1\r\n"));
	assert_non_null(strstr(s->received.data, "User-Agent: tester/1\r\n"));
}

static void watches_a_connection_once(void **state)
{
	struct server *s = *state;

	s->script = answer;
	watches = 0;
	for (int i = 0; i < 3; i++) {
		struct result result = { 0 };

		buffer_clear(&s->received);
		get(s, &result);
		assert_int_equal(result.status, 200);
		assert_int_equal(watches, 1);
	}
}

static bool has_events(struct server *s)
{
	struct pollfd loop = { uv_backend_fd(&s->loop), POLLIN, 0 };

	return poll(&loop, 1, 0) > 0;
}

static void an_idle_connection_may_end(void **state)
{
	struct server *s = *state;
	struct result first = { 0 };
	struct result second = { 0 };

	s->script = answer;
	get(s, &first);
	uv_close((uv_handle_t *)s->peer, on_closed);
	for (int i = 0; i < 10; i++) {
		(void)uv_run(&s->loop, UV_RUN_NOWAIT);
	}
	/* The end is not reported again and again. */
	assert_false(has_events(s));
	buffer_clear(&s->received);
	get(s, &second);
	assert_int_equal(second.status, 200);
	assert_int_equal(s->accepted, 2);
}

static void sends_method_headers_and_body(void **state)
{
	static const char *const headers[] = { "Content-Type: text/x",
		"X-Other: 1", NULL };
	struct server *s = *state;
	struct result result = { 0 };
	struct http_call call = call_of(s, &result);

	s->script = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
	call.method = "PATCH";
	call.headers = headers;
	call.body = "a\nb";
	call.len = 3;
	run(s, &call);
	assert_int_equal(result.status, 201);
	assert_non_null(strstr(s->received.data, "PATCH /a/../b HTTP/1.1\r\n"));
	assert_non_null(strstr(s->received.data, "Content-Type: text/x\r\n"));
	assert_non_null(strstr(s->received.data, "X-Other: 1\r\n"));
	assert_non_null(strstr(s->received.data, "\r\n\r\na\nb"));
	assert_null(strstr(s->received.data, "Expect"));
}

static void reports_status_body_and_retry_after(void **state)
{
	struct server *s = *state;
	struct result result = { 0 };

	s->script =
		"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\n"
		"Content-Length: 2\r\n\r\nno";
	get(s, &result);
	assert_int_equal(result.status, 429);
	assert_int_equal(result.retry_after_ms, 7000);
	assert_string_equal(result.body, "no");
}

static void does_not_follow_a_redirect(void **state)
{
	struct server *s = *state;
	struct result result = { 0 };

	s->script =
		"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"
		"Content-Length: 0\r\n\r\n";
	get(s, &result);
	assert_int_equal(result.status, 302);
}

static void refuses_a_response_above_the_limit(void **state)
{
	struct server *s = *state;
	struct result result = { 0 };
	struct http_call call = call_of(s, &result);

	s->script = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
	call.max = 4;
	run(s, &call);
	assert_int_equal(result.status, 0);
	assert_non_null(strstr(result.error, "is larger than 4 bytes"));
	assert_true(result.is_too_large);
	assert_string_equal(result.body, "");
}

static void refuses_plain_http_unless_allowed(void **state)
{
	struct server *s = *state;
	struct result result = { 0 };
	struct http_call call = call_of(s, &result);

	call.allows_plain = false;
	run(s, &call);
	assert_int_equal(result.status, 0);
	assert_int_equal(s->accepted, 0);
	assert_non_null(
		strstr(result.error, "cannot reach 'http://127.0.0.1:"));
}

static void reports_a_refused_connection(void **state)
{
	struct server *s = *state;
	struct result result = { 0 };
	struct http_call call = call_of(s, &result);

	call.url = "http://127.0.0.1:1/secret";
	start(s, &call);
	assert_false(result.is_over);
	run_until(&s->loop, &result.is_over);
	assert_int_equal(result.status, 0);
	assert_non_null(
		strstr(result.error, "cannot reach 'http://127.0.0.1:1'"));
	assert_null(strstr(result.error, "secret"));
}

static void reports_a_timeout(void **state)
{
	struct server *s = *state;
	struct result result = { 0 };
	struct http_call call = call_of(s, &result);

	call.timeout_ms = 50;
	run(s, &call);
	assert_int_equal(result.status, 0);
	assert_non_null(strstr(result.error, "no response from"));
}

static void reports_a_truncated_response(void **state)
{
	struct server *s = *state;
	struct result result = { 0 };

	s->script = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe";
	start_stream(s, &result);
	run_until(&s->loop, &result.has_bytes);
	uv_close((uv_handle_t *)s->peer, on_closed);
	run_until(&s->loop, &result.is_over);
	assert_int_equal(result.status, 0);
	assert_string_equal(result.body, "he");
}

static void streams_bytes_as_they_arrive(void **state)
{
	struct server *s = *state;
	struct result result = { 0 };

	s->script = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
	start_stream(s, &result);
	run_until(&s->loop, &result.has_begun);
	assert_false(result.has_bytes);
	send_text(s->peer, "3\r\nabc\r\n");
	run_until(&s->loop, &result.has_bytes);
	assert_string_equal(result.body, "abc");
	send_text(s->peer, "2\r\nde\r\n0\r\n\r\n");
	run_until(&s->loop, &result.is_over);
	assert_string_equal(result.body, "abcde");
	assert_int_equal(result.status, 200);
}

static void collects_error_responses_to_streams(void **state)
{
	struct server *s = *state;
	struct result result = { 0 };

	s->script = "HTTP/1.1 410 Gone\r\nContent-Length: 3\r\n\r\nold";
	start_stream(s, &result);
	run_until(&s->loop, &result.is_over);
	assert_false(result.has_begun);
	assert_int_equal(result.status, 410);
	assert_string_equal(result.body, "old");
}

static void makes_no_callback_after_cancel(void **state)
{
	struct server *s = *state;
	struct result first = { .on_bytes = CANCEL };
	struct result second = { 0 };
	struct result third = { 0 };

	s->script = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
	start_stream(s, &first);
	run_until(&s->loop, &first.has_bytes);
	start_stream(s, &second);
	http_cancel(second.transfer);
	get(s, &third);
	assert_false(first.is_over);
	assert_false(second.is_over);
	assert_int_equal(third.status, 200);
}

static void may_be_closed_from_its_callbacks(void **state)
{
	struct result stream = { .on_bytes = CLOSE };
	struct result other = { 0 };
	struct result end = { .on_end = CLOSE };
	struct server *s = *state;

	s->script = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
	start_stream(s, &stream);
	start_stream(s, &other);
	run_until(&s->loop, &stream.has_bytes);
	assert_null(s->client);
	assert_false(stream.is_over);
	s->client = http_client_new(&s->loop, "tester/2");
	get(s, &end);
	assert_null(s->client);
}

/* The second chunk does not fit where the first one is. */
static void overwrites_what_it_received_before_it_is_freed(void **state)
{
	struct server *s = *state;
	struct result whole = { 0 }, stream = { 0 };

	s->script =
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		"17\r\nthe-key-of-an-authority\r\n"
		"3c\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		"xxxx\r\n0\r\n\r\n";
	secrets_freed = 0;
	get(s, &whole);
	assert_int_equal(strlen(whole.body), 83);
	assert_int_equal(secrets_freed, 0);
	start_stream(s, &stream);
	run_until(&s->loop, &stream.is_over);
	assert_int_equal(strlen(stream.body), 83);
	assert_int_equal(secrets_freed, 0);
}

/* ---- waiting ---- */

/* Sends count requests that the server leaves unanswered. */
static void hold(struct server *s, struct result *results, size_t count)
{
	const char *script = take_ptr(s->script);

	for (size_t i = 0; i < count; i++) {
		struct http_call call = call_of(s, &results[i]);

		start(s, &call);
	}
	while (s->requests < count) {
		assert_int_not_equal(uv_run(&s->loop, UV_RUN_ONCE), 0);
	}
	s->script = script;
}

static void start_with(struct server *s, struct result *result,
	enum http_priority priority)
{
	struct http_call call = call_of(s, result);

	call.priority = priority;
	start(s, &call);
}

static void sends_many_requests_over_few_connections(void **state)
{
	struct server *s = *state;
	struct result results[2 * HTTP_REQUESTS_MAX] = { 0 };

	s->script = answer;
	for (size_t i = 0; i < count_of(results); i++) {
		start_with(s, &results[i], HTTP_NORMAL);
	}
	for (size_t i = 0; i < count_of(results); i++) {
		run_until(&s->loop, &results[i].is_over);
		assert_int_equal(results[i].status, 200);
	}
	assert_int_equal(s->accepted, HTTP_REQUESTS);
}

static void sends_at_once_what_must_be_in_time(void **state)
{
	struct server *s = *state;
	struct result held[HTTP_REQUESTS] = { 0 };
	struct result urgent = { 0 }, stream = { 0 };

	hold(s, held, HTTP_REQUESTS);
	s->script = answer;
	start_with(s, &urgent, HTTP_AT_ONCE);
	run_until(&s->loop, &urgent.is_over);
	assert_int_equal(urgent.status, 200);
	start_stream(s, &stream);
	run_until(&s->loop, &stream.is_over);
	assert_int_equal(stream.status, 200);
}

static void opens_more_connections_to_a_slow_server(void **state)
{
	struct server *s = *state;
	struct result held[HTTP_REQUESTS] = { 0 };
	struct result patient = { 0 };

	hold(s, held, HTTP_REQUESTS);
	s->script = answer;
	start_with(s, &patient, HTTP_NORMAL);
	fake_clock_move(HTTP_PATIENCE_MS * UINT64_C(1000));
	run_until(&s->loop, &patient.is_over);
	assert_int_equal(patient.status, 200);
	assert_int_equal(s->accepted, HTTP_REQUESTS + 1);
}

static void ends_a_request_that_waited_too_long(void **state)
{
	struct server *s = *state;
	struct result held[HTTP_REQUESTS] = { 0 };
	struct result late = { 0 }, cancelled = { 0 };
	struct http_call call = call_of(s, &late);

	hold(s, held, HTTP_REQUESTS);
	call.timeout_ms = 100;
	start(s, &call);
	start_with(s, &cancelled, HTTP_BACKGROUND);
	http_cancel(cancelled.transfer);
	fake_clock_move(100000);
	run_until(&s->loop, &late.is_over);
	assert_int_equal(late.status, 0);
	assert_non_null(strstr(late.error, "no response from"));
	assert_non_null(strstr(late.error, "waited for other requests"));
	assert_false(cancelled.is_over);
	assert_int_equal(s->requests, HTTP_REQUESTS);
}

static void forgets_the_request_before(void **state)
{
	static const char *const headers[] = { "X-Other: 1", NULL };
	struct server *s = *state;
	struct result first = { 0 }, second = { 0 };
	struct http_call call = call_of(s, &first);

	s->script = answer;
	call.method = "POST";
	call.headers = headers;
	call.body = "body";
	call.len = 4;
	run(s, &call);
	buffer_clear(&s->received);
	get(s, &second);
	assert_int_equal(second.status, 200);
	assert_int_equal(strncmp(s->received.data, "GET ", 4), 0);
	assert_null(strstr(s->received.data, "X-Other"));
	assert_null(strstr(s->received.data, "Content-Length"));
	assert_null(strstr(s->received.data, "\r\n\r\nbody"));
}

#define with_server(test)                                                      \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_server(keeps_a_connection_for_the_next_request),
		with_server(watches_a_connection_once),
		with_server(an_idle_connection_may_end),
		with_server(sends_method_headers_and_body),
		with_server(reports_status_body_and_retry_after),
		with_server(does_not_follow_a_redirect),
		with_server(refuses_a_response_above_the_limit),
		with_server(refuses_plain_http_unless_allowed),
		with_server(reports_a_refused_connection),
		with_server(reports_a_timeout),
		with_server(reports_a_truncated_response),
		with_server(streams_bytes_as_they_arrive),
		with_server(collects_error_responses_to_streams),
		with_server(makes_no_callback_after_cancel),
		with_server(may_be_closed_from_its_callbacks),
		with_server(overwrites_what_it_received_before_it_is_freed),
		with_server(sends_many_requests_over_few_connections),
		with_server(sends_at_once_what_must_be_in_time),
		with_server(opens_more_connections_to_a_slow_server),
		with_server(ends_a_request_that_waited_too_long),
		with_server(forgets_the_request_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
