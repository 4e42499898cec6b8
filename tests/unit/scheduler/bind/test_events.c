#include "scheduler/bind/events.h"

#include "kube/client.h"
#include "scheduler/filter/filter.h"
#include "tests/support/cm.h"
#include "tests/support/golden.h"
#include "tests/unit/scheduler/given.h"

static const int64_t second = 1000000;

/* A fake API server: a request stays open until a test answers it. */
struct kube_request {
	struct kube_call call;
	char *body, *path;
};

static struct {
	struct kube_request *open[EVENTS_PENDING];
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
	assert_true(world.count < EVENTS_PENDING);
	request->call = *call;
	request->body = xstrndup(call->body, call->len);
	request->path = xstrdup(call->path);
	world.open[world.count++] = request;
	golden_tell("%s %s %s\n", call->method, call->path, request->body);
	return request;
}

void kube_request_cancel(struct kube_request *request)
{
	if (request != NULL) {
		free(request->body);
		free(request->path);
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
	assert_golden_told(GOLDEN_PROGRAM, *state);
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
	events_error(world.events, &world.queued, "a", EVENTS_REPEAT_US);
	assert_int_equal(answer_all(), 0);
}

/* The number of open requests with this method. */
static size_t count_open(const char *method)
{
	size_t count = 0;

	for (size_t i = 0; i < world.count; i++) {
		count += strcmp(world.open[i]->call.method, method) == 0;
	}
	return count;
}

static void sends_one_event_of_a_reason_in_5_minutes_but_each_condition(
	void **state)
{
	(void)state;
	assert_true(fails_with("a", 0));
	assert_true(fails_with("b", 1));
	assert_true(fails_with("a", 2));
	assert_int_equal(count_open("PATCH"), 3);
	assert_int_equal(count_open("POST"), 1);
	assert_int_equal(events_suppressed(world.events, EVENTS_OF_POD), 2);
	events_error(world.events, &world.queued, "c", 3);
	assert_int_equal(count_open("POST"), 2);
	assert_true(fails_with("b", EVENTS_REPEAT_US));
	assert_int_equal(count_open("PATCH"), 5);
	assert_int_equal(count_open("POST"), 3);
	answer_all();
}

static void sends_an_event_once_another_plugin_rejects(void **state)
{
	(void)state;
	world.queued.plugins = 1 << PLUGIN_NODE_RESOURCES_FIT;
	assert_true(fails_with("0/3", 0));
	assert_true(fails_with("0/4", 1));
	assert_int_equal(count_open("POST"), 1);
	world.queued.plugins |= 1 << PLUGIN_TAINT_TOLERATION;
	assert_true(fails_with("0/5", 2));
	assert_int_equal(count_open("POST"), 2);
	world.queued.plugins = 1 << PLUGIN_TAINT_TOLERATION;
	assert_true(fails_with("0/6", EVENTS_REPEAT_US));
	assert_int_equal(count_open("POST"), 2);
	assert_true(fails_with("0/7", EVENTS_REPEAT_US + 2));
	assert_int_equal(count_open("POST"), 3);
	answer_all();
}

/* Another pod fails; it keeps nothing. */
static void another_fails(int64_t now_us)
{
	struct queued_pod other = { .pod = world.queued.pod };

	assert_true(events_unschedulable(world.events, &other, "x", now_us));
	free(other.message);
}

static void sends_30_events_a_second_in_total(void **state)
{
	size_t sent = 0;

	(void)state;
	for (int i = 0; i < EVENTS_BURST + 100; i++) {
		another_fails(0);
		sent += count_open("POST");
		answer_all();
	}
	assert_int_equal(sent, EVENTS_BURST);
	assert_int_equal(events_suppressed(world.events, EVENTS_OF_ALL), 100);
	sent = 0;
	for (int i = 0; i < 100; i++) {
		another_fails(second);
		sent += count_open("POST");
		answer_all();
	}
	assert_int_equal(sent, EVENTS_PER_S);
}

static void sends_an_event_that_is_owed_once_there_is_room(void **state)
{
	(void)state;
	for (int i = 0; i < EVENTS_BURST; i++) {
		another_fails(0);
		answer_all();
	}
	assert_true(fails_with("a", 0));
	assert_int_equal(count_open("PATCH"), 1);
	assert_int_equal(answer_all(), 1);
	assert_true(fails_with("a", 0));
	assert_int_equal(answer_all(), 0);
	assert_int_equal(events_suppressed(world.events, EVENTS_OF_ALL), 1);
	assert_true(fails_with("a", second));
	assert_int_equal(count_open("POST"), 1);
	assert_int_equal(answer_all(), 1);
	assert_true(fails_with("a", second));
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
	for (int i = 0; i < EVENTS_PENDING - 2; i++) {
		events_scheduled(world.events, world.queued.pod, "n", "",
			second * i);
	}
	assert_false(fails_with("a", second * EVENTS_PENDING));
	assert_null(world.queued.message);
	assert_int_equal(answer_all(), EVENTS_PENDING - 2);
	assert_true(fails_with("a", second * EVENTS_PENDING));
	assert_int_equal(answer_all(), 2);
}

static struct pod *launcher(void)
{
	return given_pod(world.interner,
		"{'metadata':{'name':'virt-launcher-a-x','namespace':'x',"
		"'uid':'p','labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi-1'},"
		"'annotations':{'kubevirt.io/domain':'a'}}}");
}

/* The open request about the VMI; NULL: none. */
static const char *vmi_event(void)
{
	for (size_t i = 0; i < world.count; i++) {
		const char *body = world.open[i]->body;

		if (strstr(body, "\"VirtualMachineInstance\"") != NULL) {
			return body;
		}
	}
	return NULL;
}

static void the_vmi_has_the_events_of_its_launcher_pod(void **state)
{
	struct pod *pod = launcher();
	struct queued_pod queued = { .pod = pod };

	(void)state;
	events_scheduled(world.events, pod, "n", "n: 5 % CPU used", 0);
	assert_int_equal(count_open("POST"), 2);
	assert_non_null(strstr(vmi_event(), "\"Scheduled\""));
	assert_non_null(strstr(vmi_event(), "\"uid\":\"vmi-1\""));
	assert_non_null(strstr(vmi_event(), "\"name\":\"a\""));
	assert_non_null(strstr(vmi_event(), "\"kubevirt.io/v1\""));
	assert_non_null(strstr(vmi_event(),
		"Successfully assigned x/virt-launcher-a-x to n: 5 % CPU "
		"used"));
	answer_all();
	assert_true(events_unschedulable(world.events, &queued, "no", 0));
	assert_int_equal(count_open("POST"), 2);
	assert_non_null(strstr(vmi_event(), "\"FailedScheduling\""));
	answer_all();
	assert_true(events_unschedulable(world.events, &queued, "no 2", 1));
	assert_null(vmi_event());
	answer_all();
	free(queued.message);
	pod_free(pod);
}

/* The API server is slow: no request is answered. */
static void each_of_200_vms_that_start_at_once_has_its_pods_event(void **state)
{
	struct pod *pod = launcher();
	size_t pods = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		events_scheduled(world.events, pod, "n", "", 0);
	}
	for (size_t i = 0; i < world.count; i++) {
		pods += strstr(world.open[i]->body, "\"kind\":\"Pod\"") != NULL;
	}
	assert_int_equal(pods, 200);
	assert_int_equal(
		world.count + events_suppressed(world.events, EVENTS_OF_VMI),
		400);
	assert_int_equal(events_suppressed(world.events, EVENTS_OF_ALL), 0);
	answer_all();
	pod_free(pod);
}

static void counts_what_is_not_sent_while_too_many_are_in_flight(void **state)
{
	(void)state;
	for (int i = 0; i < EVENTS_PENDING + 3; i++) {
		events_scheduled(world.events, world.queued.pod, "n", "",
			second * i);
	}
	assert_int_equal(events_suppressed(world.events, EVENTS_IN_FLIGHT), 3);
	assert_int_equal(answer_all(), EVENTS_PENDING);
}

static void events_about_vmis_count_for_the_limit_of_all(void **state)
{
	const struct events_vmi about = { .namespace = "x",
		.name = "a",
		.uid = "vmi-1",
		.reason = "MoveOrdered",
		.note = "because" };

	(void)state;
	for (int i = 0; i < EVENTS_BURST; i++) {
		events_about_vmi(world.events, &about, 0);
		assert_non_null(strstr(vmi_event(), "\"Moving\""));
		answer_all();
	}
	events_about_vmi(world.events, &about, 0);
	assert_int_equal(world.count, 0);
	assert_int_equal(events_suppressed(world.events, EVENTS_OF_ALL), 1);
}

static void an_event_about_a_pod_has_its_own_reason(void **state)
{
	const struct events_pod about = { "MakingRoom", "RoomLost", "because",
		true };

	(void)state;
	events_about_pod(world.events, world.queued.pod, &about, 0);
	assert_int_equal(world.count, 1);
	assert_non_null(strstr(world.open[0]->body, "\"RoomLost\""));
	assert_non_null(strstr(world.open[0]->body, "\"MakingRoom\""));
	assert_non_null(strstr(world.open[0]->body, "\"Warning\""));
	answer_all();
}

static void a_vm_is_told_that_its_pod_is_left_alone(void **state)
{
	struct json_value *pod = given_json(
		"{'metadata':{'name':'virt-launcher-a-x','namespace':'x',"
		"'uid':'p','labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi-1'},"
		"'annotations':{'kubevirt.io/domain':'a'}}}");

	(void)state;
	events_left_alone(world.events, world.interner, pod, "it has claims",
		0);
	assert_int_equal(world.count, 2);
	assert_non_null(strstr(world.open[0]->body,
		"\"s leaves the pod to default-scheduler: it has claims\""));
	assert_non_null(strstr(world.open[0]->body, "\"LeftToDefault\""));
	assert_non_null(strstr(world.open[0]->body, "\"Normal\""));
	assert_non_null(strstr(vmi_event(), "\"LeftToDefault\""));
	answer_all();
	json_value_free(pod);
}

static void counts_events_about_pods_above_the_limit_of_all(void **state)
{
	const struct events_pod about = { "MakingRoom", "RoomLost", "because",
		true };

	(void)state;
	for (int i = 0; i < EVENTS_BURST; i++) {
		events_about_pod(world.events, world.queued.pod, &about, 0);
		assert_int_equal(answer_all(), 1);
	}
	for (size_t i = 1; i <= 2; i++) {
		events_about_pod(world.events, world.queued.pod, &about, 0);
		assert_int_equal(answer_all(), 0);
		assert_int_equal(events_suppressed(world.events, EVENTS_OF_ALL),
			i);
	}
}

static void writes_and_removes_the_nominated_node(void **state)
{
	(void)state;
	events_nominate(world.events, world.queued.pod, "node-1");
	assert_int_equal(world.count, 1);
	assert_string_equal(world.open[0]->call.method, "PATCH");
	assert_string_equal(world.open[0]->call.type,
		"application/merge-patch+json");
	assert_string_equal(world.open[0]->path,
		"/api/v1/namespaces/x/pods/p/status");
	assert_string_equal(world.open[0]->body,
		"{\"metadata\":{\"uid\":\"p\"},"
		"\"status\":{\"nominatedNodeName\":\"node-1\"}}");
	answer_all();
	events_nominate(world.events, world.queued.pod, "");
	assert_string_equal(world.open[0]->body,
		"{\"metadata\":{\"uid\":\"p\"},"
		"\"status\":{\"nominatedNodeName\":null}}");
	answer_all();
}

static void nominations_in_flight_are_bounded(void **state)
{
	(void)state;
	for (int i = 0; i < EVENTS_PENDING + 1; i++) {
		events_nominate(world.events, world.queued.pod, "node-1");
	}
	assert_int_equal(events_suppressed(world.events, EVENTS_IN_FLIGHT), 1);
	assert_int_equal(answer_all(), EVENTS_PENDING);
}

#define CASE(name) golden_test(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(reports_the_same_failure_once_in_5_minutes),
		CASE(sends_one_event_of_a_reason_in_5_minutes_but_each_condition),
		CASE(sends_an_event_once_another_plugin_rejects),
		CASE(sends_30_events_a_second_in_total),
		CASE(sends_an_event_that_is_owed_once_there_is_room),
		CASE(names_the_reason_in_condition_and_event),
		CASE(reports_both_or_nothing_above_the_limit),
		CASE(the_vmi_has_the_events_of_its_launcher_pod),
		CASE(each_of_200_vms_that_start_at_once_has_its_pods_event),
		CASE(counts_what_is_not_sent_while_too_many_are_in_flight),
		CASE(events_about_vmis_count_for_the_limit_of_all),
		CASE(an_event_about_a_pod_has_its_own_reason),
		CASE(a_vm_is_told_that_its_pod_is_left_alone),
		CASE(counts_events_about_pods_above_the_limit_of_all),
		CASE(writes_and_removes_the_nominated_node),
		CASE(nominations_in_flight_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
