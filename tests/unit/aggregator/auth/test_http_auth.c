#include "aggregator/auth/http_auth.h"

#include "kube/config.h"
#include "tests/unit/aggregator/fake_kube.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* A guarded interface behind a real socket; the client blocks on a thread. */
struct fixture {
	uv_loop_t loop;
	struct guard guard;
	struct httpd *httpd;
	uv_work_t work;
	char request[512], answer[2000];
	bool is_answered;
};

static void serve_inside(void *owner, struct http_request *request)
{
	(void)owner;
	http_reply(request, 200, "text/plain", "inside", 6);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct kube_config config = { 0 };

	(void)fake_setup(NULL);
	assert_int_equal(uv_loop_init(&f->loop), 0);
	f->guard = (struct guard){ review_new(&f->loop, &config), serve_inside,
		f };
	assert_int_equal(
		httpd_new(&f->httpd, &f->loop,
			&(struct httpd_options){ .address = "127.0.0.1:0",
				.serve = guard_serve,
				.owner = &f->guard },
			NULL),
		0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	review_stop(f->guard.review);
	httpd_close(f->httpd);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	review_free(f->guard.review);
	free(f);
	return 0;
}

static void talk(uv_work_t *work)
{
	struct fixture *f = work->data;
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(httpd_port(f->httpd)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	scoped_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = 0;
	ssize_t got = 1;

	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
		write(fd, f->request, strlen(f->request)) < 0) {
		return;
	}
	while (got > 0 && len < sizeof(f->answer) - 1) {
		got = read(fd, f->answer + len, sizeof(f->answer) - 1 - len);
		len += got > 0 ? (size_t)got : 0;
	}
	f->answer[len] = '\0';
}

static void on_talked(uv_work_t *work, int status)
{
	struct fixture *f = work->data;

	(void)status;
	f->is_answered = true;
}

static void ask(struct fixture *f, const char *header)
{
	(void)snprintf(f->request, sizeof(f->request),
		"GET /v1/x HTTP/1.1\r\nHost: x\r\n%sConnection: close\r\n\r\n",
		header);
	f->is_answered = false;
	f->answer[0] = '\0';
	f->work.data = f;
	assert_int_equal(uv_queue_work(&f->loop, &f->work, talk, on_talked), 0);
}

static void assert_answer(struct fixture *f, int status, bool has_challenge,
	const char *word)
{
	char line[32];

	(void)snprintf(line, sizeof(line), "HTTP/1.1 %d ", status);
	run_until(&f->loop, &f->is_answered);
	if (strncmp(f->answer, line, strlen(line)) != 0 ||
		strstr(f->answer, word) == NULL) {
		fail_msg("%s", f->answer);
	}
	assert_int_equal(
		strstr(f->answer, "WWW-Authenticate: Bearer\r\n") != NULL,
		has_challenge);
}

static void without_a_token_it_says_what_is_wanted(void **state)
{
	static const char *const headers[] = {
		"",
		"Authorization: Basic dDp0\r\n",
		"Authorization: Bearer\r\n",
		"Authorization: t\r\n",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < count_of(headers); i++) {
		ask(f, headers[i]);
		assert_answer(f, 401, true, "{\"error\":\"no token was shown");
	}
	ask(f, "Authorization: Bearer a\"b\r\n");
	assert_answer(f, 401, true, "what no token does");
	assert_int_equal(fake.sent, 0);
}

static void a_bad_token_is_401_in_the_servers_words(void **state)
{
	struct fixture *f = *state;

	ask(f, "Authorization: Bearer old\r\n");
	fake_await(&f->loop);
	fake_answer(201, FAKE_BAD_TOKEN);
	assert_answer(f, 401, true, "token has expired");
}

static void who_may_not_is_403_by_name(void **state)
{
	struct fixture *f = *state;

	ask(f, "Authorization: Bearer t\r\n");
	fake_await(&f->loop);
	fake_answer(201, FAKE_ACCOUNT(""));
	fake_expect("POST", FAKE_ACCESS, "\"path\":\"/v1/x\"");
	fake_answer(201, FAKE_NO);
	assert_answer(f, 403, false,
		"account 'system:serviceaccount:ns:agent' may not get /v1/x");
}

static void who_may_gets_inside(void **state)
{
	struct fixture *f = *state;

	ask(f, "authorization: bearer  t\r\n");
	fake_await(&f->loop);
	fake_expect("POST", FAKE_TOKENS, "\"token\":\"t\"");
	fake_answer(201, FAKE_ACCOUNT(""));
	fake_answer(201, FAKE_YES);
	assert_answer(f, 200, false, "\r\n\r\ninside");
}

static void without_the_api_server_it_is_503(void **state)
{
	struct fixture *f = *state;

	ask(f, "Authorization: Bearer t\r\n");
	fake_await(&f->loop);
	fake_answer(0, "");
	assert_answer(f, 503, false, "try again");
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(without_a_token_it_says_what_is_wanted),
		test(a_bad_token_is_401_in_the_servers_words),
		test(who_may_not_is_403_by_name),
		test(who_may_gets_inside),
		test(without_the_api_server_it_is_503),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
