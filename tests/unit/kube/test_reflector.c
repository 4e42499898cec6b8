#include "kube/reflector.h"

#include "tests/support/fake_clock.h"
#include "tests/unit/kube/reflector_world.h"

#define NOW_US UINT64_C(1000000000)

/* ---- the server ---- */

#define META(ns, name, uid, version)                                           \
	"{\"metadata\":{\"namespace\":\"" ns "\",\"name\":\"" name             \
	"\",\"uid\":\"" uid "\",\"resourceVersion\":\"" version "\"}}"
#define X1 META("a", "x", "1", "1")
#define Y2 META("a", "y", "2", "1")
#define EVENT(type, name, uid, version)                                        \
	"{\"type\":\"" type "\",\"object\":" META("a", name, uid, version) "}" \
									   "\n"
#define FAILURE(code, message)                                                 \
	"{\"type\":\"ERROR\",\"object\":{\"code\":" code                       \
	",\"message\":\"" message "\"}}\n"

static void respond_fully(const struct http_response *response)
{
	struct kube_request *request = take_ptr(world.request);

	assert_non_null(request);
	request->call.on_done(request->call.owner, response);
	request_free(request);
}

static void respond(int status, const char *error)
{
	respond_fully(&(struct http_response){
		.status = status,
		.body = "",
		.error = error,
	});
}

static void stream(const char *bytes)
{
	assert_non_null(world.request);
	assert_non_null(world.request->call.on_chunk);
	world.request->call.on_chunk(world.request->call.owner, bytes,
		strlen(bytes));
}

/* Sends a list in two pieces, without its end. */
static void stream_list(const char *items, const char *version)
{
	scoped_free char *begin = xasprintf(
		"{\"metadata\":{\"resourceVersion\":\"%s\"},\"items\":[",
		version);

	stream("");
	stream(begin);
	if (world.request != NULL) {
		stream(items);
	}
}

static void respond_list(const char *items, const char *version)
{
	stream_list(items, version);
	if (world.request != NULL) {
		stream("]}");
		respond(200, "");
	}
}

static void pass(uint64_t us)
{
	fake_clock_move(us);
}

/* Fires the timer, which must be set. */
static void fire(void)
{
	assert_true(world.timer.is_set);
	world.timer.is_set = false;
	pass(world.timer.wait_ms * 1000);
	world.timer.fire(world.timer.owner);
}

/* ---- the handler ---- */

static void tell(char what, const struct reflector_id *id)
{
	if (id == NULL) {
		buffer_text(&world.calls, "synced ");
	} else {
		buffer_printf(&world.calls, "%c:%s/%s=%s ", what,
			id->namespace_name, id->name, id->uid);
	}
	if (what == world.close_on) {
		reflector_close(take_ptr(world.reflector));
	}
}

static void on_object(void *owner, const struct reflector_id *id,
	const struct json_value *object)
{
	assert_ptr_equal(owner, &world);
	assert_string_equal(json_value_text_at(object, "metadata/name", ""),
		id->name);
	tell('o', id);
}

static void on_deleted(void *owner, const struct reflector_id *id)
{
	assert_ptr_equal(owner, &world);
	tell('g', id);
}

static void on_synced(void *owner)
{
	assert_ptr_equal(owner, &world);
	tell('s', NULL);
}

static void expect_calls(const char *text)
{
	assert_string_equal(world.calls.data != NULL ? world.calls.data : "",
		text);
	buffer_clear(&world.calls);
}

static void expect_path(const char *part)
{
	assert_non_null(world.request);
	if (strstr(world.request->path, part) == NULL) {
		fail_msg("'%s' is not in %s", part, world.request->path);
	}
}

static void expect_list(void)
{
	assert_non_null(world.request);
	assert_string_equal(world.request->path,
		"/api/v1/pods?fieldSelector=a%21%3Db");
}

static int set_up_with(const char *labels)
{
	memset(&world, 0, sizeof(world));
	fake_clock_set(NOW_US, 0);
	world.calls = BUFFER_MAX(10000);
	world.reflector = reflector_new(NULL,
		&(struct reflector_options){
			.path = "/api/v1/pods",
			.field_selector = "a!=b",
			.label_selector = labels,
		},
		&(struct reflector_handler){
			.on_object = on_object,
			.on_deleted = on_deleted,
			.on_synced = on_synced,
			.owner = &world,
		});
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	return set_up_with(NULL);
}

static int set_up_with_labels(void **state)
{
	(void)state;
	return set_up_with("c=d");
}

static int tear_down(void **state)
{
	(void)state;
	reflector_close(take_ptr(world.reflector));
	assert_null(world.request);
	assert_true(world.timer_is_closed);
	buffer_fini(&world.calls);
	return 0;
}

/* Opens a watch from version 10 with a/x=1 and a/y=2. */
static void begin_watch(void)
{
	respond_list(X1 "," Y2, "10");
	stream("");
	expect_calls("o:a/x=1 o:a/y=2 synced ");
}

#define with_world(test)                                                       \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* ---- without failures ---- */

static void on_demand_all_objects_are_listed_again_and_reported(void **state)
{
	(void)state;
	begin_watch();
	reflector_list_again(world.reflector);
	assert_null(world.request);
	fire();
	expect_list();
	/* In the middle of a list, too. */
	stream_list(X1, "11");
	expect_calls("o:a/x=1 ");
	reflector_list_again(world.reflector);
	fire();
	expect_list();
	respond_list(X1, "12");
	expect_calls("o:a/x=1 g:a/y=2 ");
	expect_path("resourceVersion=12");
}

static void both_selectors_are_sent(void **state)
{
	(void)state;
	expect_path("fieldSelector=a%21%3Db");
	expect_path("labelSelector=c%3Dd");
}

static void lists_then_watches(void **state)
{
	struct reflector_state now;

	(void)state;
	expect_list();
	stream_list(X1 "," Y2 ",", "10");
	expect_calls("o:a/x=1 o:a/y=2 ");
	now = reflector_state(world.reflector);
	assert_false(now.is_synced);
	assert_false(now.is_watching);
	stream(META("", "node", "3", "1") "]}");
	respond(200, "");
	expect_calls("o:/node=3 synced ");
	expect_path(
		"/api/v1/pods?watch=1&allowWatchBookmarks=true"
		"&resourceVersion=10&timeoutSeconds=");
	expect_path("&fieldSelector=a%21%3Db");
	now = reflector_state(world.reflector);
	assert_true(now.is_synced);
	assert_false(now.is_watching);
	assert_int_equal(now.contact_us, NOW_US);
	pass(5);
	stream("");
	now = reflector_state(world.reflector);
	assert_true(now.is_watching);
	assert_int_equal(now.contact_us, NOW_US + 5);
	assert_string_equal(now.last_error, "");
}

static void continues_a_watch_where_it_ended(void **state)
{
	(void)state;
	begin_watch();
	stream(EVENT("MODIFIED", "x", "1", "11"));
	stream(EVENT("ADDED", "z", "3", "12"));
	stream(EVENT("DELETED", "y", "2", "13"));
	stream(EVENT("DELETED", "y", "2", "14"));
	stream(EVENT("BOOKMARK", "", "", "20"));
	expect_calls("o:a/x=1 o:a/z=3 g:a/y=2 ");
	pass(300000000);
	respond(200, "");
	assert_int_equal(world.timer.wait_ms, 0);
	assert_false(reflector_state(world.reflector).is_watching);
	fire();
	expect_path("resourceVersion=20&");
	expect_calls("");
}

static void joins_lines_from_several_chunks(void **state)
{
	(void)state;
	begin_watch();
	stream("{\"type\":\"MODIFIED\",\"object\":{\"metadata\":");
	stream("{\"namespace\":\"a\",\"name\":\"x\",\"uid\":\"1\",");
	stream("\"resourceVersion\":\"11\"}}}");
	expect_calls("");
	stream("\n");
	expect_calls("o:a/x=1 ");
}

static void reports_objects_deleted_during_a_gap(void **state)
{
	(void)state;
	begin_watch();
	pass(60000000);
	stream(FAILURE("410", "too old"));
	assert_string_equal(reflector_state(world.reflector).last_error,
		"watch of /api/v1/pods ended: too old");
	assert_int_equal(world.timer.wait_ms, 0);
	fire();
	expect_list();
	respond_list(META("a", "y", "4", "1") "," META("a", "z", "3", "1"),
		"30");
	expect_calls("g:a/y=2 o:a/y=4 o:a/z=3 g:a/x=1 ");
	expect_path("resourceVersion=30&");
	stream("");
	assert_string_equal(reflector_state(world.reflector).last_error, "");
}

static void ignores_objects_without_a_name(void **state)
{
	(void)state;
	begin_watch();
	stream(EVENT("ADDED", "", "3", "11"));
	stream(EVENT("ADDED", "z", "", "12"));
	stream(EVENT("DELETED", "", "", "13"));
	expect_calls("");
	pass(60000000);
	respond(200, "");
	fire();
	expect_path("resourceVersion=13&");
}

static void may_be_closed_from_every_handler(void **state)
{
	(void)state;
	world.close_on = 'o';
	respond_list(X1 "," Y2, "10");
	expect_calls("o:a/x=1 ");
	assert_null(world.request);

	(void)tear_down(state);
	(void)set_up(state);
	world.close_on = 's';
	respond_list(X1, "10");
	expect_calls("o:a/x=1 synced ");

	(void)tear_down(state);
	(void)set_up(state);
	begin_watch();
	world.close_on = 'g';
	stream(EVENT("DELETED", "x", "1", "11") "nonsense\n");
	expect_calls("g:a/x=1 ");

	(void)tear_down(state);
	(void)set_up(state);
	begin_watch();
	pass(60000000);
	respond(410, "too old");
	fire();
	world.close_on = 'g';
	respond_list("", "20");
	assert_null(world.request);
	assert_null(world.reflector);
}

/* ---- with failures of the server or the network ---- */

static void lists_again_when_the_watch_is_refused_as_too_old(void **state)
{
	(void)state;
	begin_watch();
	pass(60000000);
	respond(200, "");
	fire();
	respond(410, "too old resource version");
	assert_string_equal(reflector_state(world.reflector).last_error,
		"cannot watch /api/v1/pods: too old resource version");
	assert_true(reflector_state(world.reflector).is_refused);
	fire();
	expect_list();
}

static void refuse_the_version(int status)
{
	begin_watch();
	pass(60000000);
	respond(200, "");
	fire();
	respond(status, "invalid resource version");
	fire();
	expect_list();
}

static void lists_again_when_the_version_of_a_watch_is_invalid(void **state)
{
	(void)state;
	refuse_the_version(400);
}

static void lists_again_when_a_watch_is_not_found(void **state)
{
	(void)state;
	refuse_the_version(404);
}

/* An object that only the first list had is gone. */
static void begins_a_list_again_that_ends_early(void **state)
{
	(void)state;
	stream_list(X1 "," Y2, "10");
	respond(0, "reset");
	expect_calls("o:a/x=1 o:a/y=2 ");
	assert_string_equal(reflector_state(world.reflector).last_error,
		"cannot list /api/v1/pods: reset");
	assert_in_range(world.timer.wait_ms, 1000, 2000);
	fire();
	expect_list();
	stream_list(X1, "20");
	respond(200, "");
	assert_string_equal(reflector_state(world.reflector).last_error,
		"list of /api/v1/pods: the list is not complete");
	fire();
	expect_list();
	respond_list(X1, "30");
	expect_calls("o:a/x=1 o:a/x=1 g:a/y=2 synced ");
}

static void begins_a_list_again_that_stalls(void **state)
{
	(void)state;
	assert_int_equal(world.timer.wait_ms, 60000);
	stream_list(X1, "10");
	pass(59000000);
	stream(",");
	assert_int_equal(world.timer.wait_ms, 60000);
	fire();
	assert_null(world.request);
	assert_string_equal(reflector_state(world.reflector).last_error,
		"the list of /api/v1/pods stopped for 60 s");
	fire();
	expect_list();
	respond_list(X1, "10");
	expect_calls("o:a/x=1 o:a/x=1 synced ");
}

static void waits_longer_with_each_failure(void **state)
{
	static const uint64_t least[] = { 1000, 2000, 4000, 8000, 15000,
		15000 };

	(void)state;
	for (size_t i = 0; i < count_of(least); i++) {
		respond(0, "cannot reach it");
		assert_in_range(world.timer.wait_ms, least[i], 2 * least[i]);
		fire();
	}
	assert_string_equal(reflector_state(world.reflector).last_error,
		"cannot list /api/v1/pods: cannot reach it");
	begin_watch();
	stream(EVENT("MODIFIED", "x", "1", "11"));
	respond(0, "reset");
	assert_in_range(world.timer.wait_ms, 1000, 2000);
}

static void waits_when_watches_end_immediately(void **state)
{
	(void)state;
	begin_watch();
	respond(200, "");
	assert_in_range(world.timer.wait_ms, 1000, 2000);
	fire();
	stream("");
	respond(200, "");
	assert_in_range(world.timer.wait_ms, 2000, 4000);
}

static void respects_retry_after(void **state)
{
	struct http_response slow = {
		.status = 429,
		.body = "",
		.retry_after_ms = 17000,
		.error = "slow down",
	};

	(void)state;
	respond_fully(&slow);
	assert_int_equal(world.timer.wait_ms, 17000);
	fire();
	slow.retry_after_ms = 86400000;
	respond_fully(&slow);
	assert_int_equal(world.timer.wait_ms, 60000);
}

static void keeps_its_version_during_server_errors(void **state)
{
	(void)state;
	begin_watch();
	stream(EVENT("MODIFIED", "x", "1", "11"));
	stream(FAILURE("500", "etcd"));
	fire();
	expect_path("resourceVersion=11&");
	respond(403, "forbidden");
	fire();
	expect_path("resourceVersion=11&");
}

/* Fires the timer 90 s after the last bytes of the open watch. */
static void fall_silent(void)
{
	const struct kube_request *silent = world.request;

	assert_non_null(silent);
	fire();
	assert_null(world.request);
	assert_false(reflector_state(world.reflector).is_watching);
}

static void a_silent_watch_goes_on_at_its_version_on_a_new_connection(
	void **state)
{
	(void)state;
	begin_watch();
	assert_false(world.request->call.needs_new_connection);
	stream(EVENT("BOOKMARK", "", "", "20"));
	assert_int_equal(world.timer.wait_ms, 90000);
	fall_silent();
	assert_string_equal(reflector_state(world.reflector).last_error, "");
	assert_int_equal(world.timer.wait_ms, 0);
	fire();
	expect_path("resourceVersion=20&");
	assert_true(world.request->call.needs_new_connection);
	stream("");
	stream(EVENT("MODIFIED", "x", "1", "21"));
	expect_calls("o:a/x=1 ");
	pass(300000000);
	respond(200, "");
	fire();
	assert_false(world.request->call.needs_new_connection);
}

static void a_silent_watch_lists_again_only_if_its_version_is_too_old(
	void **state)
{
	(void)state;
	begin_watch();
	fall_silent();
	fire();
	expect_path("resourceVersion=10&");
	respond(410, "too old");
	fire();
	expect_list();
	assert_true(world.request->call.needs_new_connection);
}

static void a_watch_that_speaks_is_left_alone(void **state)
{
	const struct kube_request *watch;

	(void)state;
	begin_watch();
	watch = world.request;
	for (int i = 0; i < 5; i++) {
		pass(60000000);
		stream(EVENT("BOOKMARK", "", "", "20"));
		world.timer.wait_ms = 30000; /* what is left of the 90 s */
		fire();
		assert_ptr_equal(world.request, watch);
		assert_int_equal(world.timer.wait_ms, 60000);
	}
}

static void a_watch_without_an_answer_is_as_an_unreachable_server(void **state)
{
	(void)state;
	begin_watch();
	pass(300000000);
	respond(200, "");
	fire();
	expect_path("resourceVersion=10&");
	fall_silent();
	assert_string_equal(reflector_state(world.reflector).last_error,
		"cannot watch /api/v1/pods: no answer for 90 s");
	assert_in_range(world.timer.wait_ms, 1000, 2000);
	fire();
	expect_list();
	assert_true(world.request->call.needs_new_connection);
}

/* The server may have an older store. */
static void lists_again_after_the_server_was_unreachable(void **state)
{
	static const int statuses[] = { 0, 502, 503, 504 };

	(void)state;
	begin_watch();
	for (size_t i = 0; i < count_of(statuses); i++) {
		stream(EVENT("MODIFIED", "x", "1", "11"));
		expect_calls("o:a/x=1 ");
		respond(0, "reset");
		fire();
		expect_path("resourceVersion=11&");
		respond(statuses[i], "nobody is there");
		assert_int_equal(reflector_state(world.reflector).is_refused,
			statuses[i] != 0);
		fire();
		expect_list();
		respond_list(X1, "5");
		expect_calls(i == 0 ? "o:a/x=1 g:a/y=2 " : "o:a/x=1 ");
		expect_path("resourceVersion=5&");
		stream("");
	}
}

static void lists_again_after_an_invalid_line(void **state)
{
	(void)state;
	stream("<html>");
	assert_null(world.request);
	assert_string_equal(reflector_state(world.reflector).last_error,
		"list of /api/v1/pods: not a list: byte 0");
	fire();
	begin_watch();
	stream("nonsense\n");
	assert_non_null(strstr(reflector_state(world.reflector).last_error,
		"watch of /api/v1/pods: cannot read a watch event"));
	fire();
	expect_list();
}

static void lists_again_after_an_endless_line(void **state)
{
	char *bytes = xcalloc((4 << 20) + 2, 1);

	(void)state;
	memset(bytes, ' ', (4 << 20) + 1);
	begin_watch();
	stream(bytes);
	free(bytes);
	assert_string_equal(reflector_state(world.reflector).last_error,
		"watch of /api/v1/pods: a line is longer than 4194304 bytes");
	fire();
	expect_list();
}

static void refuses_an_endless_version(void **state)
{
	char *version = xcalloc(70000, 1);

	(void)state;
	memset(version, 'x', 69999);
	respond_list(X1, version);
	free(version);
	assert_null(world.request);
	assert_string_equal(reflector_state(world.reflector).last_error,
		"cannot watch /api/v1/pods: its resourceVersion is too long");
	fire();
	expect_list();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_world(on_demand_all_objects_are_listed_again_and_reported),
		cmocka_unit_test_setup_teardown(both_selectors_are_sent,
			set_up_with_labels, tear_down),
		with_world(lists_then_watches),
		with_world(continues_a_watch_where_it_ended),
		with_world(joins_lines_from_several_chunks),
		with_world(reports_objects_deleted_during_a_gap),
		with_world(ignores_objects_without_a_name),
		with_world(may_be_closed_from_every_handler),
		with_world(lists_again_when_the_watch_is_refused_as_too_old),
		with_world(lists_again_when_the_version_of_a_watch_is_invalid),
		with_world(lists_again_when_a_watch_is_not_found),
		with_world(begins_a_list_again_that_ends_early),
		with_world(begins_a_list_again_that_stalls),
		with_world(waits_longer_with_each_failure),
		with_world(waits_when_watches_end_immediately),
		with_world(respects_retry_after),
		with_world(keeps_its_version_during_server_errors),
		with_world(
			a_silent_watch_goes_on_at_its_version_on_a_new_connection),
		with_world(
			a_silent_watch_lists_again_only_if_its_version_is_too_old),
		with_world(a_watch_that_speaks_is_left_alone),
		with_world(
			a_watch_without_an_answer_is_as_an_unreachable_server),
		with_world(lists_again_after_the_server_was_unreachable),
		with_world(lists_again_after_an_invalid_line),
		with_world(lists_again_after_an_endless_line),
		with_world(refuses_an_endless_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
