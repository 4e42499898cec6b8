#include "scheduler/bind/events.h"

#include "kube/client.h"
#include "tests/support/cm.h"
#include "tests/unit/scheduler/given.h"

/* events.c allows this many requests in flight. */
enum { PENDING_MAX = 256 };

/* A fake API server: a request stays open until a test answers it. */
struct kube_request {
	struct kube_call call;
	char *body;
};

static struct {
	struct kube_request *open[PENDING_MAX];
	size_t count;
	struct interner *interner;
	struct events *events;
	struct queued_pod queued;
} world;

struct kube_request *kube_request_send(struct kube_client *client,
	const struct kube_call *call)
{
	struct kube_request *request = xcalloc(1, sizeof(*request));

	(void)client;
	assert_true(world.count < PENDING_MAX);
	request->call = *call;
	request->body = xstrndup(call->body, call->len);
	world.open[world.count++] = request;
	return request;
}

void kube_request_cancel(struct kube_request *request)
{
	if (request != NULL) {
		free(request->body);
		free(request);
	}
}

/* Answers all open requests; returns their number. */
static size_t answer_all(void)
{
	const struct http_response done = { .status = 201, .error = "" };
	size_t count = world.count;

	while (world.count > 0) {
		struct kube_request *request = world.open[--world.count];
		struct kube_call call = request->call;

		kube_request_cancel(request);
		call.on_done(call.owner, &done);
	}
	return count;
}

static int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.interner = interner_new();
	world.events = events_new(NULL, "s");
	world.queued.pod = given_pod(world.interner,
		"{'metadata':{'name':'p','namespace':'x','uid':'p'}}");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	events_close(world.events);
	free(world.queued.message);
	pod_free(world.queued.pod);
	interner_free(world.interner);
	return 0;
}

static bool fails_with(const char *message, int64_t now_us)
{
	return events_unschedulable(world.events, &world.queued, message,
		now_us);
}

static void reports_the_same_failure_once_in_5_minutes(void **state)
{
	(void)state;
	assert_true(fails_with("a", 0));
	assert_int_equal(answer_all(), 2);
	assert_true(fails_with("a", EVENTS_REPEAT_US - 1));
	assert_int_equal(answer_all(), 0);
	assert_true(fails_with("a", EVENTS_REPEAT_US));
	assert_int_equal(answer_all(), 2);
	assert_true(fails_with("b", EVENTS_REPEAT_US));
	assert_int_equal(answer_all(), 2);
	events_error(world.events, &world.queued, "b", EVENTS_REPEAT_US);
	assert_int_equal(answer_all(), 0);
}

static void names_the_reason_in_condition_and_event(void **state)
{
	(void)state;
	events_error(world.events, &world.queued, "no", 0);
	assert_int_equal(world.count, 2);
	assert_string_equal(world.open[0]->call.method, "PATCH");
	assert_non_null(strstr(world.open[0]->body, "\"SchedulerError\""));
	assert_string_equal(world.open[1]->call.method, "POST");
	assert_non_null(strstr(world.open[1]->body, "\"FailedScheduling\""));
	answer_all();
}

static void reports_both_or_nothing_above_the_limit(void **state)
{
	(void)state;
	for (int i = 0; i < PENDING_MAX - 1; i++) {
		events_scheduled(world.events, world.queued.pod, "n", "");
	}
	assert_false(fails_with("a", 0));
	assert_null(world.queued.message);
	assert_int_equal(answer_all(), PENDING_MAX - 1);
	assert_true(fails_with("a", 0));
	assert_int_equal(answer_all(), 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(reports_the_same_failure_once_in_5_minutes),
		CASE(names_the_reason_in_condition_and_event),
		CASE(reports_both_or_nothing_above_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
