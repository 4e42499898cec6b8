/* Outlooks that many ask for, with stand-ins for the questions, the requests
 * and the clock. */
#include "aggregator/apiserver/api_outlook.h"

#include "aggregator/ingest/questions.h"
#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/fake_timers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ASKED_MAX = 8, BODY_MAX = 512 };

static struct scene {
	uv_loop_t loop;
	bool has_no_leader;
	/* The questions that are open, the oldest first. */
	struct {
		question_done done;
		void *owner;
		char namespace[DECISION_NAME_MAX], body[BODY_MAX];
	} open[ASKED_MAX];
	size_t open_count, asked, cancelled;
	struct api_outlook *all;
} scene;

/* A request and its reply. */
struct httpd_request {
	unsigned replies;
	int status;
	char body[BODY_MAX];
};

/* ---- stand-ins ---- */

int __wrap_questions_ask(struct questions *questions, const struct asked *asked,
	question_done done, void *owner, struct error *err);
int __wrap_questions_ask(struct questions *questions, const struct asked *asked,
	question_done done, void *owner, struct error *err)
{
	size_t i = scene.open_count;

	(void)questions;
	assert_int_equal(asked->kind, QUESTION_OUTLOOK);
	/* Many share the answer. */
	assert_true(asked->is_reserved);
	scene.asked++;
	if (scene.has_no_leader) {
		return error_set(err, -EHOSTUNREACH, "no scheduler leads now");
	}
	assert_true(i < ASKED_MAX);
	scene.open[i].done = done;
	scene.open[i].owner = owner;
	(void)snprintf(scene.open[i].namespace, sizeof(scene.open[i].namespace),
		"%s", asked->namespace);
	(void)snprintf(scene.open[i].body, BODY_MAX, "%.*s", (int)asked->len,
		asked->body);
	scene.open_count++;
	return 0;
}

void __wrap_questions_cancel(struct questions *questions, const void *owner);
void __wrap_questions_cancel(struct questions *questions, const void *owner)
{
	(void)questions;
	(void)owner;
	scene.cancelled++;
}

struct vm_reach *__wrap_vm_reach_new(uv_loop_t *loop,
	struct questions *questions);
struct vm_reach *__wrap_vm_reach_new(uv_loop_t *loop,
	struct questions *questions)
{
	(void)loop;
	(void)questions;
	return NULL;
}

void __wrap_httpd_reply(struct httpd_request *request, int status,
	const char *type, const char *body, size_t len);
void __wrap_httpd_reply(struct httpd_request *request, int status,
	const char *type, const char *body, size_t len)
{
	assert_string_equal(type, "application/json");
	request->replies++;
	request->status = status;
	(void)snprintf(request->body, BODY_MAX, "%.*s", (int)len, body);
}

void __wrap_httpd_reply_error(struct httpd_request *request, int status,
	const char *format, ...) __attribute__((format(printf, 3, 4)));
void __wrap_httpd_reply_error(struct httpd_request *request, int status,
	const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	request->replies++;
	request->status = status;
	(void)vsnprintf(request->body, BODY_MAX, format, arguments);
	va_end(arguments);
}

/* ---- steps ---- */

static int setup(void **state)
{
	(void)state;
	scene = (struct scene){ 0 };
	assert_int_equal(uv_loop_init(&scene.loop), 0);
	scene.all = api_outlook_new(&scene.loop, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	api_outlook_stop(scene.all);
	api_outlook_free(scene.all);
	(void)uv_run(&scene.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&scene.loop), 0);
	return 0;
}

static void want(struct httpd_request *request, const char *path)
{
	struct rest_path read;

	*request = (struct httpd_request){ 0 };
	assert_int_equal(rest_path_parse(&read, path, NULL), 0);
	api_outlook_serve(scene.all, &read, request);
}

static void want_cluster(struct httpd_request *request)
{
	want(request, "/apis/" API_GROUP_VERSION "/status/plimsoll/outlook");
}

static void want_vm(struct httpd_request *request, const char *name)
{
	scoped_free char *path = xasprintf("/apis/" API_GROUP_VERSION
					   "/namespaces/shop/vmloads/"
					   "%s/outlook",
		name);

	want(request, path);
}

/* The scheduler answers the oldest question. */
static void answer(unsigned status, const char *body, size_t len)
{
	question_done done = scene.open[0].done;
	void *owner = scene.open[0].owner;

	assert_true(scene.open_count > 0);
	scene.open_count--;
	memmove(scene.open, scene.open + 1,
		scene.open_count * sizeof(scene.open[0]));
	done(owner, status, body, len);
}

static void expect(const struct httpd_request *request, int status,
	const char *body)
{
	assert_int_equal(request->replies, 1);
	assert_int_equal(request->status, status);
	assert_string_equal(request->body, body);
}

#define CLUSTER                                                                \
	"{\"kind\":\"Outlook\",\"apiVersion\":\"" API_GROUP_VERSION            \
	"\",\"metadata\":{\"name\":\"plimsoll\"},\"status\":{\"nodes\":[]}}\n"

/* ---- tests ---- */

static void all_who_ask_share_one_answer_for_ten_seconds(void **state)
{
	struct httpd_request requests[4];

	(void)state;
	want_cluster(&requests[0]);
	want_cluster(&requests[1]);
	assert_int_equal(scene.asked, 1);
	assert_string_equal(scene.open[0].namespace, "");
	assert_string_equal(scene.open[0].body, "{}");
	assert_int_equal(requests[1].replies, 0);
	answer(200, "{\"nodes\":[]}", 12);
	expect(&requests[0], 200, CLUSTER);
	expect(&requests[1], 200, CLUSTER);
	fake_clock_move(OUTLOOK_KEPT_US - 1);
	want_cluster(&requests[2]);
	expect(&requests[2], 200, CLUSTER);
	assert_int_equal(scene.asked, 1);
	fake_clock_move(1);
	want_cluster(&requests[3]);
	assert_int_equal(requests[3].replies, 0);
	assert_int_equal(scene.asked, 2);
}

static void an_error_is_remembered_for_two_seconds(void **state)
{
	struct httpd_request request;

	(void)state;
	scene.has_no_leader = true;
	want_cluster(&request);
	expect(&request, 503, "no scheduler leads now");
	scene.has_no_leader = false;
	fake_clock_move(OUTLOOK_ERROR_KEPT_US - 1);
	want_cluster(&request);
	expect(&request, 503, "no scheduler leads now");
	assert_int_equal(scene.asked, 1);
	fake_clock_move(1);
	want_cluster(&request);
	assert_int_equal(scene.asked, 2);
	answer(503, "ask again", 9);
	expect(&request, 503, "ask again");
}

static void an_answer_that_is_no_status_is_not_passed_on(void **state)
{
	scoped_free char *large = xcalloc(1, OUTLOOK_VM_MAX + 2);
	struct httpd_request request;

	(void)state;
	want_cluster(&request);
	answer(200, "{}\0x", 4);
	expect(&request, 502, "the scheduler's answer is not usable");
	want_vm(&request, "web");
	answer(204, "", 0);
	expect(&request, 502, "the scheduler's answer is not usable");
	memset(large, ' ', OUTLOOK_VM_MAX + 1);
	want_vm(&request, "large");
	answer(200, large, OUTLOOK_VM_MAX + 1);
	expect(&request, 502, "the scheduler's answer is not usable");
}

static void a_vm_is_asked_for_by_its_name(void **state)
{
	struct httpd_request web, other, third, cluster;

	(void)state;
	want_vm(&web, "web");
	want_vm(&other, "other");
	assert_string_equal(scene.open[0].namespace, "shop");
	assert_string_equal(scene.open[0].body, "{\"vmName\":\"web\"}");
	/* The cluster's waits for no VM's, of which few are asked for. */
	want_vm(&third, "third");
	assert_int_equal(scene.open_count, OUTLOOK_VMS_ASKED);
	want_cluster(&cluster);
	assert_int_equal(scene.open_count, OUTLOOK_VMS_ASKED + 1);
	answer(200, "{}", 2);
	expect(&web, 200,
		"{\"kind\":\"Outlook\",\"apiVersion\":\"" API_GROUP_VERSION
		"\",\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\"},"
		"\"status\":{}}\n");
	answer(404, "the scheduler knows no VM shop/other", 36);
	expect(&other, 404, "the scheduler knows no VM shop/other");
	assert_string_equal(scene.open[1].body, "{\"vmName\":\"third\"}");
	assert_int_equal(third.replies, 0);
	fake_clock_move(OUTLOOK_VM_KEPT_US);
	want_vm(&web, "web");
	assert_int_equal(web.replies, 0);
}

static void there_is_one_status(void **state)
{
	struct httpd_request request;

	(void)state;
	want(&request, "/apis/" API_GROUP_VERSION "/status/other/outlook");
	expect(&request, 404, "status.load.plimsoll.io \"other\" not found");
	assert_int_equal(scene.asked, 0);
}

/* The scheduler answers nothing. */
static void nobody_waits_longer_than_eleven_seconds(void **state)
{
	struct httpd_request requests[4], cluster;

	(void)state;
	want_vm(&requests[0], "a");
	want_vm(&requests[1], "b");
	fake_clock_move(OUTLOOK_WAIT_US - 1);
	/* These wait for the first ones. */
	want_vm(&requests[2], "c");
	want_vm(&requests[3], "d");
	want_cluster(&cluster);
	(void)uv_run(&scene.loop, UV_RUN_NOWAIT);
	assert_int_equal(requests[0].replies, 0);
	fake_clock_move(500000);
	(void)uv_run(&scene.loop, UV_RUN_NOWAIT);
	expect(&requests[0], 503, "no answer in time");
	expect(&requests[1], 503, "no answer in time");
	assert_int_equal(scene.cancelled, 2);
	assert_int_equal(scene.asked, 5);
	assert_int_equal(requests[2].replies, 0);
	fake_clock_move(OUTLOOK_WAIT_US);
	(void)uv_run(&scene.loop, UV_RUN_NOWAIT);
	expect(&requests[2], 503, "no answer in time");
	expect(&requests[3], 503, "no answer in time");
	expect(&cluster, 503, "no answer in time");
	assert_int_equal(scene.cancelled, 5);
	/* Nothing is left to look at. */
	assert_false(uv_loop_alive(&scene.loop));
}

/* Two are asked for, and the rest would wait for these. */
static void a_wait_for_the_questions_of_others_counts(void **state)
{
	struct httpd_request requests[3];

	(void)state;
	want_vm(&requests[0], "a");
	want_vm(&requests[1], "b");
	want_vm(&requests[2], "c");
	fake_clock_move(OUTLOOK_WAIT_US);
	(void)uv_run(&scene.loop, UV_RUN_NOWAIT);
	expect(&requests[2], 503, "no answer in time");
	assert_int_equal(scene.asked, 2);
}

static void those_who_wait_are_told_of_the_end(void **state)
{
	struct httpd_request request, vm;

	(void)state;
	want_cluster(&request);
	want_vm(&vm, "web");
	api_outlook_stop(scene.all);
	expect(&request, 503, "shutting down");
	expect(&vm, 503, "shutting down");
	assert_int_equal(scene.cancelled, 2);
	want_cluster(&request);
	expect(&request, 503, "shutting down");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_who_ask_share_one_answer_for_ten_seconds),
		TEST(an_error_is_remembered_for_two_seconds),
		TEST(an_answer_that_is_no_status_is_not_passed_on),
		TEST(a_vm_is_asked_for_by_its_name),
		TEST(there_is_one_status),
		TEST(nobody_waits_longer_than_eleven_seconds),
		TEST(a_wait_for_the_questions_of_others_counts),
		TEST(those_who_wait_are_told_of_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
