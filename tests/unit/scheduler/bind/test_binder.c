/* Bindings whose answers a test gives, and what became of the pod. */
#include "scheduler/bind/binder.h"

#include "kube/client.h"
#include "tests/support/fake_timers.h"
#include "tests/unit/scheduler/given.h"

#include <stdio.h>

static struct {
	uv_loop_t loop;
	struct interner *interner;
	struct binder *binder;
	struct pod *pod;
	struct kube_call call; /* the last */
	char path[128], body[1024];
	unsigned sent, open, cancelled;
	/* The last result. */
	unsigned done;
	enum bind_outcome outcome;
	char text[256];
} scene;

struct kube_request *kube_request_send(struct kube_client *client,
	const struct kube_call *call)
{
	(void)client;
	scene.call = *call;
	scene.open++;
	if (call->body != NULL) {
		(void)snprintf(scene.body, sizeof(scene.body), "%.*s",
			(int)call->len, call->body);
	}
	(void)snprintf(scene.path, sizeof(scene.path), "%s %s", call->method,
		call->path);
	scene.sent++;
	return (struct kube_request *)&scene;
}

void kube_request_cancel(struct kube_request *request)
{
	if (request != NULL) { /* one that has not ended */
		assert_true(scene.open > 0);
		scene.open--;
		scene.cancelled++;
	}
}

static void on_done(void *owner, const struct bind_result *result)
{
	(void)owner;
	scene.done++;
	scene.outcome = result->outcome;
	(void)snprintf(scene.text, sizeof(scene.text), "%s on %s by %s: %s",
		result->uid, result->node, result->why, result->error);
}

static int setup(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	assert_int_equal(uv_loop_init(&scene.loop), 0);
	scene.interner = interner_new();
	scene.pod = given_pod(scene.interner,
		"{'metadata':{'name':'p','namespace':'ns','uid':'u'},"
		"'spec':{'containers':[]}}");
	scene.binder = binder_new(NULL, &scene.loop, on_done, NULL);
	binder_bind(scene.binder, scene.pod, "n1", "it is idle");
	assert_string_equal(scene.path,
		"POST /api/v1/namespaces/ns/pods/p/binding");
	assert_non_null(strstr(scene.body, "\"uid\":\"u\""));
	assert_non_null(strstr(scene.body, "\"name\":\"n1\""));
	assert_non_null(strstr(scene.body, "it is idle"));
	assert_int_equal(binder_pending(scene.binder), 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	binder_close(scene.binder);
	binder_close(NULL);
	pod_free(scene.pod);
	interner_free(scene.interner);
	(void)uv_run(&scene.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&scene.loop), 0);
	return 0;
}

static void answer(int status, const char *body)
{
	assert_int_equal(scene.open, 1);
	scene.open = 0;
	scene.call.on_done(scene.call.owner,
		&(struct http_response){ .status = status,
			.body = body,
			.len = strlen(body),
			.error = status / 100 == 2 ? "" : "it says no" });
}

/* A second passes. */
static void pass(void)
{
	fake_clock_move(1000000);
	(void)uv_run(&scene.loop, UV_RUN_NOWAIT);
}

static void expect(enum bind_outcome outcome, const char *why)
{
	scoped_free char *text = xasprintf("u on n1 by it is idle: %s", why);

	assert_int_equal(scene.done, 1);
	assert_int_equal(scene.outcome, outcome);
	assert_string_equal(scene.text, text);
	assert_int_equal(binder_pending(scene.binder), 0);
	pass();
	assert_int_equal(scene.open, 0);
}

static void an_answer_tells_the_outcome(void **state)
{
	static const struct {
		int status;
		enum bind_outcome outcome;
	} cases[] = {
		{ 200, BIND_DONE },
		{ 201, BIND_DONE },
		{ 404, BIND_GONE },
		{ 400, BIND_REFUSED },
		{ 403, BIND_REFUSED },
		{ 422, BIND_REFUSED },
	};

	for (size_t i = 0; i < count_of(cases); i++) {
		if (i > 0) {
			(void)teardown(state);
			(void)setup(state);
		}
		answer(cases[i].status, "");
		expect(cases[i].outcome,
			cases[i].outcome == BIND_DONE ? "" : "it says no");
	}
}

/* The pod may be bound, so the API server is asked what it has. */
static void without_a_clear_answer_the_pod_decides(void **state)
{
#define HAS(uid, node)                                                         \
	"{\"metadata\":{\"uid\":\"" uid "\"},\"spec\":{" node "}}"
	static const struct {
		const char *pod;
		enum bind_outcome outcome;
		const char *why;
	} cases[] = {
		{ HAS("u", "\"nodeName\":\"n1\""), BIND_DONE, "" },
		{ HAS("u", "\"nodeName\":\"n2\""), BIND_GONE,
			"another scheduler bound it" },
		{ HAS("u", ""), BIND_REFUSED, "the binding was lost" },
		{ HAS("v", "\"nodeName\":\"n1\""), BIND_GONE,
			"the pod was replaced" },
	};
	static const int unclear[] = { 0, 408, 409, 429, 500 };

	for (size_t i = 0; i < count_of(cases) * count_of(unclear); i++) {
		size_t c = i / count_of(unclear);

		if (i > 0) {
			(void)teardown(state);
			(void)setup(state);
		}
		answer(unclear[i % count_of(unclear)], "");
		assert_int_equal(scene.done, 0);
		assert_string_equal(scene.path,
			"GET /api/v1/namespaces/ns/pods/p");
		answer(200, cases[c].pod);
		expect(cases[c].outcome, cases[c].why);
	}
}

static void a_pod_that_is_gone_is_not_read_again(void **state)
{
	(void)state;
	answer(500, "");
	answer(404, "");
	expect(BIND_GONE, "it says no");
}

static void the_pod_is_read_once_a_second_for_a_minute(void **state)
{
	(void)state;
	answer(0, "");
	for (int i = 1; i < BINDER_READS_MAX; i++) {
		answer(i % 2 == 0 ? 500 : 200, "no JSON");
		assert_int_equal(scene.done, 0);
		assert_int_equal(scene.sent, i + 1);
		assert_int_equal(scene.open, 0);
		pass();
		assert_int_equal(scene.sent, i + 2);
	}
	answer(500, "");
	expect(BIND_UNKNOWN, "it says no");
}

static void an_api_server_that_refuses_is_asked_three_times(void **state)
{
	(void)state;
	answer(409, "");
	answer(403, "");
	pass();
	answer(500, "");
	pass();
	answer(403, "");
	pass();
	assert_int_equal(scene.done, 0);
	answer(403, "");
	expect(BIND_UNKNOWN, "it says no");
}

static void closing_cancels_what_is_open(void **state)
{
	(void)state;
	binder_bind(scene.binder, scene.pod, "n2", "");
	assert_int_equal(binder_pending(scene.binder), 2);
	binder_close(scene.binder);
	scene.binder = NULL;
	assert_int_equal(scene.cancelled, 2);
	assert_int_equal(scene.done, 0);
	pass();
	assert_int_equal(scene.sent, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_answer_tells_the_outcome),
		TEST(without_a_clear_answer_the_pod_decides),
		TEST(a_pod_that_is_gone_is_not_read_again),
		TEST(the_pod_is_read_once_a_second_for_a_minute),
		TEST(an_api_server_that_refuses_is_asked_three_times),
		TEST(closing_cancels_what_is_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
