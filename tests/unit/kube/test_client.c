/* The client with a fake of kube/http.h: the requests it sends, its retries,
 * and how it handles responses. */
#include "kube/client.h"

#include "kube/config.h"
#include "kube/http.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the fake: one transfer at a time ---- */

struct http_transfer {
	struct http_call call;
	char *url;
	char *token; /* the Authorization header, or NULL */
	char *type;  /* the Content-Type header, or NULL */
	char *ca;
};

static struct {
	struct http_transfer *transfer;
	unsigned sent;
	unsigned cancelled;
} fake;

struct http_client *http_client_new(uv_loop_t *loop, const char *agent)
{
	(void)loop;
	assert_non_null(strstr(agent, "plimsoll/"));
	return (struct http_client *)&fake;
}

static void transfer_free(struct http_transfer *t)
{
	if (t != NULL) {
		free(t->url);
		free(t->token);
		free(t->type);
		free(t->ca);
		free(t);
	}
}

void http_client_close(struct http_client *client)
{
	(void)client;
	transfer_free(take_ptr(fake.transfer));
}

static char *header(const struct http_call *call, const char *name)
{
	for (const char *const *h = call->headers; *h != NULL; h++) {
		if (strncmp(*h, name, strlen(name)) == 0) {
			return xstrdup(*h);
		}
	}
	return NULL;
}

struct http_transfer *http_send(struct http_client *client,
	const struct http_call *call)
{
	struct http_transfer *t = xcalloc(1, sizeof(*t));

	(void)client;
	assert_null(fake.transfer);
	assert_false(call->allows_plain);
	t->call = *call;
	t->url = xstrdup(call->url);
	t->token = header(call, "Authorization: ");
	t->type = header(call, "Content-Type: ");
	t->ca = call->tls->ca != NULL ? xstrdup(call->tls->ca) : NULL;
	fake.transfer = t;
	fake.sent++;
	return t;
}

void http_cancel(struct http_transfer *transfer)
{
	assert_ptr_equal(transfer, fake.transfer);
	transfer_free(take_ptr(fake.transfer));
	fake.cancelled++;
}

/* Ends the pending transfer. */
static void respond(const struct http_response *response)
{
	struct http_transfer *t = take_ptr(fake.transfer);

	assert_non_null(t);
	t->call.on_done(t->call.owner, response);
	transfer_free(t);
}

static void respond_status(int status, const char *body)
{
	respond(&(struct http_response){
		.status = status,
		.body = body,
		.len = strlen(body),
		.error = "",
	});
}

/* ---- the tests ---- */

struct result {
	unsigned count;
	int status;
	uint64_t retry_after_ms;
	bool is_too_large;
	char error[400];
	char bytes[100];
};

static void on_done(void *owner, const struct http_response *response)
{
	struct result *result = owner;

	result->count++;
	result->status = response->status;
	result->retry_after_ms = response->retry_after_ms;
	result->is_too_large = response->is_too_large;
	strncpy(result->error, response->error, sizeof(result->error) - 1);
}

static void on_chunk(void *owner, const char *bytes, size_t len)
{
	struct result *result = owner;

	strncat(result->bytes, bytes, len);
}

/* Shared by the tests: a token in a file. */
struct fixture {
	uv_loop_t loop;
	struct kube_client *client;
	char token_path[32];
};

static void put_token(const struct fixture *f, const char *token)
{
	scoped_fd int fd = open(f->token_path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_int_equal(write(fd, token, strlen(token)), strlen(token));
}

static int set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct kube_config config = {
		.server = xstrdup("https://h:1/p"),
		.namespace_name = xstrdup("ns"),
		.ca = { .text = xstrdup("CA") },
		.token = { .text = xstrdup("one") },
	};
	int fd;

	memcpy(f->token_path, "/tmp/test_client.XXXXXX", 24);
	fd = mkstemp(f->token_path);
	assert_true(fd >= 0);
	(void)close(fd);
	put_token(f, "one");
	config.token.path = xstrdup(f->token_path);
	assert_int_equal(uv_loop_init(&f->loop), 0);
	memset(&fake, 0, sizeof(fake));
	f->client = kube_client_new(&f->loop, &config);
	assert_null(config.server);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kube_client_close(f->client);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	assert_int_equal(unlink(f->token_path), 0);
	free(f);
	return 0;
}

static struct kube_request *get(struct fixture *f, struct result *result)
{
	return kube_request_send(f->client,
		&(struct kube_call){
			.method = "GET",
			.path = "/api?x=1",
			.on_done = on_done,
			.owner = result,
		});
}

static void sends_the_call_with_the_configuration(void **state)
{
	struct fixture *f = *state;
	struct result result = { 0 };
	char body[] = "{}";

	(void)kube_request_send(f->client,
		&(struct kube_call){
			.method = "PATCH",
			.path = "/api",
			.type = "application/merge-patch+json",
			.body = body,
			.len = 2,
			.on_done = on_done,
			.owner = &result,
		});
	body[0] = 'x';
	assert_string_equal(fake.transfer->url, "https://h:1/p/api");
	assert_string_equal(fake.transfer->call.method, "PATCH");
	assert_string_equal(fake.transfer->token, "Authorization: Bearer one");
	assert_string_equal(fake.transfer->type,
		"Content-Type: application/merge-patch+json");
	assert_string_equal(fake.transfer->ca, "CA");
	assert_memory_equal(fake.transfer->call.body, "{}", 2);
	assert_int_equal(fake.transfer->call.timeout_ms, KUBE_TIMEOUT_MS);
	assert_int_equal(fake.transfer->call.max, KUBE_RESPONSE_MAX);
	assert_string_equal(kube_client_namespace(f->client), "ns");
	respond_status(200, "{}");
	assert_int_equal(result.count, 1);
	assert_int_equal(result.status, 200);
	assert_string_equal(result.error, "");
}

static void reports_errors_in_the_words_of_the_server(void **state)
{
	static const struct {
		const char *body;
		const char *sentence;
	} cases[] = {
		{ "{\"kind\":\"Status\",\"message\":\"pods not found\"}",
			"pods not found" },
		{ "{\"kind\":\"Status\"}",
			"the API server returned status 404" },
		{ "<html>", "the API server returned status 404" },
		{ "", "the API server returned status 404" },
	};

	for (size_t i = 0; i < count_of(cases); i++) {
		struct result result = { 0 };

		(void)get(*state, &result);
		respond_status(404, cases[i].body);
		assert_int_equal(result.status, 404);
		assert_string_equal(result.error, cases[i].sentence);
	}
}

static void reports_that_there_was_no_response(void **state)
{
	struct result result = { 0 };

	(void)get(*state, &result);
	respond(&(struct http_response){ .body = "", .error = "no way" });
	assert_int_equal(result.count, 1);
	assert_int_equal(result.status, 0);
	assert_string_equal(result.error, "no way");
	assert_false(result.is_too_large);
}

static void reports_that_the_response_was_too_large(void **state)
{
	struct result result = { 0 };

	(void)get(*state, &result);
	respond(&(struct http_response){
		.body = "",
		.is_too_large = true,
		.error = "larger",
	});
	assert_true(result.is_too_large);
}

static void passes_on_retry_after(void **state)
{
	struct result result = { 0 };

	(void)get(*state, &result);
	respond(&(struct http_response){
		.status = 429,
		.body = "",
		.retry_after_ms = 1000,
		.error = "",
	});
	assert_int_equal(result.status, 429);
	assert_int_equal(result.retry_after_ms, 1000);
}

static void retries_once_with_a_new_token_after_401(void **state)
{
	struct fixture *f = *state;
	struct result result = { 0 };

	(void)get(f, &result);
	put_token(f, "two");
	respond_status(401, "");
	assert_int_equal(result.count, 0);
	assert_int_equal(fake.sent, 2);
	assert_string_equal(fake.transfer->token, "Authorization: Bearer two");
	put_token(f, "three");
	respond_status(401, "{\"message\":\"Unauthorized\"}");
	assert_int_equal(result.count, 1);
	assert_int_equal(result.status, 401);
	assert_string_equal(result.error, "Unauthorized");
}

static void does_not_repeat_a_401_with_the_same_token(void **state)
{
	struct result result = { 0 };

	(void)get(*state, &result);
	respond_status(401, "");
	assert_int_equal(result.count, 1);
	assert_int_equal(fake.sent, 1);
}

static void retries_after_an_untrusted_certificate(void **state)
{
	struct fixture *f = *state;
	struct result result = { 0 };

	(void)get(f, &result);
	put_token(f, "two");
	respond(&(struct http_response){
		.body = "",
		.is_untrusted = true,
		.error = "who is this",
	});
	assert_int_equal(result.count, 0);
	respond_status(200, "");
	assert_int_equal(result.status, 200);
}

static void passes_streams_through(void **state)
{
	struct fixture *f = *state;
	struct result result = { 0 };

	(void)kube_request_send(f->client,
		&(struct kube_call){
			.method = "GET",
			.path = "/w",
			.on_chunk = on_chunk,
			.on_done = on_done,
			.owner = &result,
		});
	fake.transfer->call.on_chunk(fake.transfer->call.owner, "ab", 2);
	fake.transfer->call.on_chunk(fake.transfer->call.owner, "c", 1);
	assert_string_equal(result.bytes, "abc");
	respond_status(200, "");
	assert_int_equal(result.count, 1);
}

static void makes_no_callback_after_cancel_or_close(void **state)
{
	struct result result = { 0 };

	kube_request_cancel(get(*state, &result));
	kube_request_cancel(NULL);
	assert_int_equal(fake.cancelled, 1);
	(void)get(*state, &result);
	tear_down(state);
	assert_int_equal(result.count, 0);
	set_up(state);
}

#define with_client(test)                                                      \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_client(sends_the_call_with_the_configuration),
		with_client(reports_errors_in_the_words_of_the_server),
		with_client(reports_that_there_was_no_response),
		with_client(reports_that_the_response_was_too_large),
		with_client(passes_on_retry_after),
		with_client(retries_once_with_a_new_token_after_401),
		with_client(does_not_repeat_a_401_with_the_same_token),
		with_client(retries_after_an_untrusted_certificate),
		with_client(passes_streams_through),
		with_client(makes_no_callback_after_cancel_or_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
