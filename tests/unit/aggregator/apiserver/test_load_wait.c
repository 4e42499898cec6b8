#include "aggregator/apiserver/load_wait.h"

#include "lib/clock.h"
#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"
#include "tests/support/idle_clients.h"
#include "tests/unit/aggregator/sample.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A server whose requests wait, and clients of it. A request is for the path
 * of its user's name. */

static const uint8_t run[REPORT_RUN_ID_BYTES] = { 7 };

enum { CLIENTS = LOAD_WAIT_MAX + 4 };

struct fixture {
	uv_loop_t loop;
	struct httpd *httpd;
	struct live *live;
	struct load_wait *waits;
	unsigned seconds;
	uint64_t behind; /* by so much is what requests know too old */
	size_t arrived, wanted, resumed;
	char last[64]; /* the path of the last one that was resumed */
	int fds[CLIENTS];
	size_t clients;
};

struct asked {
	struct fixture *fixture;
};

static void resume(void *owner, struct httpd_request *request)
{
	struct fixture *f = ((struct asked *)owner)->fixture;

	f->resumed++;
	(void)snprintf(f->last, sizeof(f->last), "%s", httpd_path(request));
	httpd_reply(request, 200, "text/plain", "resumed", 7);
}

static void serve(void *owner, struct httpd_request *request)
{
	struct fixture *f = owner;
	struct asked *asked = xcalloc(1, sizeof(*asked));

	asked->fixture = f;
	f->arrived++;
	httpd_set_user(request, httpd_path(request) + 1);
	load_wait_add(f->waits,
		&(struct load_wait_request){ .request = request,
			.after = live_revision(f->live) - f->behind,
			.seconds = f->seconds,
			.resume = resume,
			.owner = asked });
}

static void report(struct fixture *f)
{
	struct report report = steady_report(1, 10, 2);

	assert_int_equal(live_add(f->live,
				 &(struct live_sample){ "n", run, &report,
					 (int64_t)clock_monotonic_us(), 1 },
				 clock_monotonic_us(), NULL),
		0);
	report_fini(&report);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	assert_int_equal(uv_loop_init(&f->loop), 0);
	f->live = live_new(5, NULL);
	f->waits = load_wait_new(&f->loop, f->live);
	f->seconds = LOAD_WAIT_S_MAX;
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

	load_wait_stop(f->waits);
	httpd_close(f->httpd);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	for (size_t i = 0; i < f->clients; i++) {
		(void)close(f->fds[i]);
	}
	load_wait_free(f->waits);
	live_free(f->live);
	free(f);
	return 0;
}

static bool has_arrived(void *owner)
{
	const struct fixture *f = owner;

	return f->arrived == f->wanted;
}

/* Returns when the request has reached the server. */
static int ask(struct fixture *f, const char *user)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(httpd_port(f->httpd)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	scoped_free char *text =
		xasprintf("GET /%s HTTP/1.1\r\nHost: x\r\n\r\n", user);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	f->fds[f->clients++] = fd;
	f->wanted = f->arrived + 1;
	run_until_true(&f->loop, has_arrived, f);
	return fd;
}

static bool has_answer(void *owner)
{
	const struct fixture *f = owner;
	char byte;

	return recv(f->fds[0], &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

/* Returns when the first client has its answer, or no connection. */
static void await_answer(struct fixture *f)
{
	run_until_true(&f->loop, has_answer, f);
}

static void assert_answer(int fd, const char *status, const char *end)
{
	char text[2048];
	ssize_t len = read(fd, text, sizeof(text) - 1);

	assert_true(len > 0);
	text[len] = '\0';
	if (strncmp(text + sizeof("HTTP/1.1"), status, strlen(status)) != 0 ||
		strstr(text, end) == NULL) {
		fail_msg("%s", text);
	}
}

static void a_request_waits_for_another_revision(void **state)
{
	struct fixture *f = *state;
	int fd = ask(f, "a");

	assert_int_equal(f->resumed, 0);
	report(f);
	await_answer(f);
	assert_int_equal(f->resumed, 1);
	assert_answer(fd, "200", "resumed");
}

static void a_request_for_an_older_revision_does_not_wait(void **state)
{
	struct fixture *f = *state;

	report(f);
	f->behind = 1;
	(void)ask(f, "a");
	assert_int_equal(f->resumed, 1);
}

static void a_wait_ends_after_its_seconds(void **state)
{
	struct fixture *f = *state;
	int fd;

	f->seconds = 1;
	fd = ask(f, "a");
	fake_clock_move(1000000);
	await_answer(f);
	assert_answer(fd, "200", "resumed");
}

static void a_client_that_hangs_up_waits_no_more(void **state)
{
	struct fixture *f = *state;
	int fd = ask(f, "a");

	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	await_answer(f);
	assert_int_equal(f->resumed, 0);
}

static void a_user_has_a_few_seats(void **state)
{
	struct fixture *f = *state;
	int first = ask(f, "a");

	(void)ask(f, "other");
	for (int i = 1; i < LOAD_WAIT_OF_PEER; i++) {
		(void)ask(f, "a");
	}
	assert_int_equal(f->resumed, 0);
	(void)ask(f, "a");
	assert_int_equal(f->resumed, 1);
	assert_answer(first, "200", "resumed");
}

/* Each user but one has one place, and it has two. */
static void the_user_with_the_most_gives_way_when_all_are_taken(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < LOAD_WAIT_MAX; i++) {
		char user[16];

		(void)snprintf(user, sizeof(user), "u%d", i < 9 ? i : i - 1);
		(void)ask(f, user);
	}
	assert_int_equal(f->resumed, 0);
	(void)ask(f, "new");
	assert_int_equal(f->resumed, 1);
	assert_string_equal(f->last, "/u8");
}

static void who_waits_when_the_process_stops_gets_an_error(void **state)
{
	struct fixture *f = *state;
	int fd = ask(f, "a");

	load_wait_stop(f->waits);
	assert_answer(fd, "503", "shutting down");
	assert_int_equal(f->resumed, 0);
	(void)ask(f, "b");
	assert_int_equal(f->resumed, 1);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_request_waits_for_another_revision),
		test(a_request_for_an_older_revision_does_not_wait),
		test(a_wait_ends_after_its_seconds),
		test(a_client_that_hangs_up_waits_no_more),
		test(a_user_has_a_few_seats),
		test(the_user_with_the_most_gives_way_when_all_are_taken),
		test(who_waits_when_the_process_stops_gets_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
