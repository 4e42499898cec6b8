#include "auth/http_auth.h"

#include "kube/config.h"
#include "tests/support/blocking_client.h"
#include "tests/support/idle_clients.h"
#include "tests/unit/auth/fake_kube.h"

/* A protected interface on a real socket. */
struct fixture {
	uv_loop_t loop;
	struct http_auth auth;
	struct httpd *httpd;
	struct blocking_client client;
};

static void serve_protected(void *owner, struct httpd_request *request)
{
	(void)owner;
	httpd_reply(request, 200, "text/plain", "inside", 6);
}

static const struct httpd_route routes[] = {
	{ "/probe", .get = serve_protected, .is_open = true },
	{ "/v1/", .get = serve_protected, .post = serve_protected,
		.remove = serve_protected },
	{ "/apis/group/", .get = serve_protected },
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct kube_config config = { 0 };

	(void)fake_setup(NULL);
	assert_int_equal(uv_loop_init(&f->loop), 0);
	f->auth = (struct http_auth){ access_review_new(&f->loop, &config),
		{ .routes = routes,
			.count = count_of(routes),
			.owner = f,
			.page = serve_protected } };
	assert_int_equal(
		httpd_new(&f->httpd, &f->loop,
			&(struct httpd_options){ .address = "127.0.0.1:0",
				.serve = http_auth_serve,
				.owner = &f->auth },
			NULL),
		0);
	f->client.port = httpd_port(f->httpd);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	access_review_stop(f->auth.review);
	httpd_close(f->httpd);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	access_review_free(f->auth.review);
	free(f);
	return 0;
}

static void send_request(struct fixture *f, const char *header)
{
	blocking_client_send(&f->client, &f->loop, "GET", "/v1/x", header);
}

static void assert_answer(struct fixture *f, int status, bool has_challenge,
	const char *word)
{
	run_until(&f->loop, &f->client.is_answered);
	blocking_client_check(&f->client, status);
	if (strstr(f->client.answer, word) == NULL) {
		fail_msg("%s", f->client.answer);
	}
	assert_int_equal(strstr(f->client.answer,
				 "WWW-Authenticate: Bearer\r\n") != NULL,
		has_challenge);
}

static void a_missing_or_malformed_token_is_401(void **state)
{
	static const char *const headers[] = {
		"",
		"Authorization: Basic dDp0\r\n",
		"Authorization: Bearer\r\n",
		"Authorization: t\r\n",
		/* The body never comes. */
		"Content-Length: 1000000\r\n",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < count_of(headers); i++) {
		send_request(f, headers[i]);
		assert_answer(f, 401, true,
			"{\"error\":\"a bearer token is required");
	}
	send_request(f, "Authorization: Bearer a\"b\r\n");
	assert_answer(f, 401, true, "invalid characters");
	assert_int_equal(fake.sent, 0);
}

static void a_rejected_token_is_401_with_the_servers_reason(void **state)
{
	struct fixture *f = *state;

	send_request(f, "Authorization: Bearer old\r\n");
	fake_await(&f->loop);
	fake_answer(201, FAKE_BAD_TOKEN);
	assert_answer(f, 401, true, "token has expired");
}

static void an_account_without_the_right_is_403(void **state)
{
	struct fixture *f = *state;

	send_request(f, "Authorization: Bearer t\r\n");
	fake_await(&f->loop);
	fake_answer(201, FAKE_ACCOUNT(""));
	fake_expect("POST", FAKE_ACCESS, "\"path\":\"/v1/x\"");
	fake_answer(201, FAKE_NO);
	assert_answer(f, 403, false,
		"'system:serviceaccount:ns:agent' is not allowed to get "
		"/v1/x");
}

/* system:discovery opens /apis/ of the API server to everybody. */
static void an_object_needs_more_than_the_right_to_discovery(void **state)
{
	struct fixture *f = *state;

	blocking_client_send(&f->client, &f->loop, "GET", "/apis/group/x",
		"Authorization: Bearer t\r\n");
	fake_await(&f->loop);
	fake_answer(201, FAKE_ACCOUNT(""));
	fake_expect("POST", FAKE_ACCESS, "\"path\":\"/group/x\"");
	fake_answer(201, FAKE_NO);
	assert_answer(f, 403, false, "is not allowed to get /group/x");
}

static void another_method_needs_a_right_of_its_own(void **state)
{
	static const struct {
		const char *method, *verb;
	} cases[] = { { "DELETE", "delete" }, { "POST", "post" } };
	struct fixture *f = *state;

	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *verb =
			xasprintf("\"verb\":\"%s\"", cases[i].verb);
		scoped_free char *why =
			xasprintf("is not allowed to %s /v1/x", cases[i].verb);

		blocking_client_send(&f->client, &f->loop, cases[i].method,
			"/v1/x", "Authorization: Bearer t\r\n");
		fake_await(&f->loop);
		if (i == 0) {
			fake_answer(201, FAKE_ACCOUNT(""));
		}
		fake_expect("POST", FAKE_ACCESS, verb);
		fake_answer(201, FAKE_NO);
		assert_answer(f, 403, false, why);
	}
}

static void a_probe_needs_no_token(void **state)
{
	struct fixture *f = *state;

	blocking_client_send(&f->client, &f->loop, "GET", "/probe", "");
	assert_answer(f, 200, false, "\r\n\r\ninside");
	/* The list of paths, and paths that do not exist, are no probes. */
	blocking_client_send(&f->client, &f->loop, "GET", "/", "");
	assert_answer(f, 401, true, "a bearer token is required");
	blocking_client_send(&f->client, &f->loop, "GET", "/probe/x", "");
	assert_answer(f, 401, true, "a bearer token is required");
	assert_int_equal(fake.sent, 0);
}

static void a_page_needs_no_token_and_the_paths_beside_it_do(void **state)
{
	struct fixture *f = *state;

	blocking_client_send(&f->client, &f->loop, "GET", "/",
		"Accept: text/html\r\n");
	assert_answer(f, 200, false, "\r\n\r\ninside");
	blocking_client_send(&f->client, &f->loop, "POST", "/",
		"Accept: text/html\r\n");
	assert_answer(f, 401, true, "a bearer token is required");
	blocking_client_send(&f->client, &f->loop, "GET", "/v1/x",
		"Accept: text/html\r\n");
	assert_answer(f, 401, true, "a bearer token is required");
	assert_int_equal(fake.sent, 0);
}

static void an_allowed_request_is_served(void **state)
{
	struct fixture *f = *state;

	send_request(f, "authorization: bearer  t\r\n");
	fake_await(&f->loop);
	fake_expect("POST", FAKE_TOKENS, "\"token\":\"t\"");
	fake_answer(201, FAKE_ACCOUNT(""));
	fake_answer(201, FAKE_YES);
	assert_answer(f, 200, false, "\r\n\r\ninside");
}

static void an_unreachable_api_server_is_503(void **state)
{
	struct fixture *f = *state;

	send_request(f, "Authorization: Bearer t\r\n");
	fake_await(&f->loop);
	fake_answer(0, "");
	assert_answer(f, 503, false, "try again");
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_missing_or_malformed_token_is_401),
		test(a_rejected_token_is_401_with_the_servers_reason),
		test(an_account_without_the_right_is_403),
		test(an_object_needs_more_than_the_right_to_discovery),
		test(another_method_needs_a_right_of_its_own),
		test(a_probe_needs_no_token),
		test(a_page_needs_no_token_and_the_paths_beside_it_do),
		test(an_allowed_request_is_served),
		test(an_unreachable_api_server_is_503),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
