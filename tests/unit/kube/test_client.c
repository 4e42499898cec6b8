/* The client against a fake of kube/http.h: what it sends, when it tries
 * again, and what it makes of answers. */
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

/* Ends the transfer that is under way. */
static void answer(const struct http_answer *answer)
{
	struct http_transfer *t = take_ptr(fake.transfer);

	assert_non_null(t);
	t->call.on_done(t->call.owner, answer);
	transfer_free(t);
}

static void answer_status(int status, const char *body)
{
	answer(&(struct http_answer){
		.status = status,
		.body = body,
		.len = strlen(body),
		.error = "",
	});
}

/* ---- the tests ---- */

struct heard {
	unsigned count;
	int status;
	uint64_t retry_after_ms;
	bool is_too_large;
	char error[400];
	char bytes[100];
};

static void on_done(void *owner, const struct kube_answer *answer)
{
	struct heard *heard = owner;

	heard->count++;
	heard->status = answer->status;
	heard->retry_after_ms = answer->retry_after_ms;
	heard->is_too_large = answer->is_too_large;
	strncpy(heard->error, answer->error, sizeof(heard->error) - 1);
}

static void on_chunk(void *owner, const char *bytes, size_t len)
{
	struct heard *heard = owner;

	strncat(heard->bytes, bytes, len);
}

/* What the tests share: a token in a file. */
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

static struct kube_request *get(struct fixture *f, struct heard *heard)
{
	return kube_request_send(f->client,
		&(struct kube_call){
			.method = "GET",
			.path = "/api?x=1",
			.on_done = on_done,
			.owner = heard,
		});
}

static void sends_what_the_call_and_the_configuration_say(void **state)
{
	struct fixture *f = *state;
	struct heard heard = { 0 };
	char body[] = "{}";

	(void)kube_request_send(f->client,
		&(struct kube_call){
			.method = "PATCH",
			.path = "/api",
			.type = "application/merge-patch+json",
			.body = body,
			.len = 2,
			.on_done = on_done,
			.owner = &heard,
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
	assert_int_equal(fake.transfer->call.max, KUBE_ANSWER_MAX);
	assert_string_equal(kube_client_namespace(f->client), "ns");
	answer_status(200, "{}");
	assert_int_equal(heard.count, 1);
	assert_int_equal(heard.status, 200);
	assert_string_equal(heard.error, "");
}

static void says_no_in_the_words_of_the_server(void **state)
{
	static const struct {
		const char *body;
		const char *sentence;
	} cases[] = {
		{ "{\"kind\":\"Status\",\"message\":\"pods not found\"}",
			"pods not found" },
		{ "{\"kind\":\"Status\"}", "the API server answered 404" },
		{ "<html>", "the API server answered 404" },
		{ "", "the API server answered 404" },
	};

	for (size_t i = 0; i < count_of(cases); i++) {
		struct heard heard = { 0 };

		(void)get(*state, &heard);
		answer_status(404, cases[i].body);
		assert_int_equal(heard.status, 404);
		assert_string_equal(heard.error, cases[i].sentence);
	}
}

static void passes_on_that_there_was_no_answer(void **state)
{
	struct heard heard = { 0 };

	(void)get(*state, &heard);
	answer(&(struct http_answer){ .body = "", .error = "no way" });
	assert_int_equal(heard.count, 1);
	assert_int_equal(heard.status, 0);
	assert_string_equal(heard.error, "no way");
	assert_false(heard.is_too_large);
}

static void passes_on_that_it_was_too_large(void **state)
{
	struct heard heard = { 0 };

	(void)get(*state, &heard);
	answer(&(struct http_answer){
		.body = "",
		.is_too_large = true,
		.error = "larger",
	});
	assert_true(heard.is_too_large);
}

static void passes_on_when_to_come_back(void **state)
{
	struct heard heard = { 0 };

	(void)get(*state, &heard);
	answer(&(struct http_answer){
		.status = 429,
		.body = "",
		.retry_after_ms = 1000,
		.error = "",
	});
	assert_int_equal(heard.status, 429);
	assert_int_equal(heard.retry_after_ms, 1000);
}

static void tries_a_new_token_once_on_401(void **state)
{
	struct fixture *f = *state;
	struct heard heard = { 0 };

	(void)get(f, &heard);
	put_token(f, "two");
	answer_status(401, "");
	assert_int_equal(heard.count, 0);
	assert_int_equal(fake.sent, 2);
	assert_string_equal(fake.transfer->token, "Authorization: Bearer two");
	put_token(f, "three");
	answer_status(401, "{\"message\":\"Unauthorized\"}");
	assert_int_equal(heard.count, 1);
	assert_int_equal(heard.status, 401);
	assert_string_equal(heard.error, "Unauthorized");
}

static void does_not_repeat_a_401_with_the_same_token(void **state)
{
	struct heard heard = { 0 };

	(void)get(*state, &heard);
	answer_status(401, "");
	assert_int_equal(heard.count, 1);
	assert_int_equal(fake.sent, 1);
}

static void tries_again_when_the_certificate_is_unknown(void **state)
{
	struct fixture *f = *state;
	struct heard heard = { 0 };

	(void)get(f, &heard);
	put_token(f, "two");
	answer(&(struct http_answer){
		.body = "",
		.is_untrusted = true,
		.error = "who is this",
	});
	assert_int_equal(heard.count, 0);
	answer_status(200, "");
	assert_int_equal(heard.status, 200);
}

static void hands_streams_through(void **state)
{
	struct fixture *f = *state;
	struct heard heard = { 0 };

	(void)kube_request_send(f->client,
		&(struct kube_call){
			.method = "GET",
			.path = "/w",
			.on_chunk = on_chunk,
			.on_done = on_done,
			.owner = &heard,
		});
	fake.transfer->call.on_chunk(fake.transfer->call.owner, "ab", 2);
	fake.transfer->call.on_chunk(fake.transfer->call.owner, "c", 1);
	assert_string_equal(heard.bytes, "abc");
	answer_status(200, "");
	assert_int_equal(heard.count, 1);
}

static void is_silent_after_a_cancel_and_at_the_end(void **state)
{
	struct heard heard = { 0 };

	kube_request_cancel(get(*state, &heard));
	kube_request_cancel(NULL);
	assert_int_equal(fake.cancelled, 1);
	(void)get(*state, &heard);
	tear_down(state);
	assert_int_equal(heard.count, 0);
	set_up(state);
}

#define with_client(test)                                                      \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_client(sends_what_the_call_and_the_configuration_say),
		with_client(says_no_in_the_words_of_the_server),
		with_client(passes_on_that_there_was_no_answer),
		with_client(passes_on_that_it_was_too_large),
		with_client(passes_on_when_to_come_back),
		with_client(tries_a_new_token_once_on_401),
		with_client(does_not_repeat_a_401_with_the_same_token),
		with_client(tries_again_when_the_certificate_is_unknown),
		with_client(hands_streams_through),
		with_client(is_silent_after_a_cancel_and_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
