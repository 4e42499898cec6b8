#include "kube/reflector.h"

#include "tests/unit/kube/reflector_world.h"

/* ---- what the server does ---- */

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

static void answer_full(const struct kube_answer *answer)
{
	struct kube_request *request = take_ptr(world.request);

	assert_non_null(request);
	request->call.on_done(request->call.owner, answer);
	request_free(request);
}

static void answer(int status, const char *error)
{
	answer_full(&(struct kube_answer){
		.status = status,
		.body = "",
		.error = error,
	});
}

static void answer_page(const char *items, const char *version,
	const char *next)
{
	scoped_free char *body = xasprintf(
		"{\"metadata\":{\"resourceVersion\":\"%s\",\"continue\":"
		"\"%s\"},\"items\":[%s]}",
		version, next, items);

	answer_full(&(struct kube_answer){
		.status = 200,
		.body = body,
		.len = strlen(body),
		.error = "",
	});
}

static void stream(const char *bytes)
{
	assert_non_null(world.request);
	assert_non_null(world.request->call.on_chunk);
	world.request->call.on_chunk(world.request->call.owner, bytes,
		strlen(bytes));
}

static void pass(uint64_t us)
{
	world.now_us += us;
}

/* Lets the timer fire, which must be set. */
static void fire(void)
{
	assert_true(world.timer.is_set);
	world.timer.is_set = false;
	pass(world.timer.wait_ms * 1000);
	world.timer.fire(world.timer.owner);
}

/* ---- what the handler is told ---- */

static void tell(char what, const struct reflector_id *id)
{
	if (id == NULL) {
		buffer_text(&world.heard, "synced ");
	} else {
		buffer_printf(&world.heard, "%c:%s/%s=%s ", what,
			id->namespace_name, id->name, id->uid);
	}
	if (what == world.close_on) {
		reflector_close(take_ptr(world.reflector));
	}
}

static void on_object(void *owner, const struct reflector_id *id,
	const struct value *object)
{
	assert_ptr_equal(owner, &world);
	assert_string_equal(value_text_at(object, "metadata/name", ""),
		id->name);
	tell('o', id);
}

static void on_gone(void *owner, const struct reflector_id *id)
{
	assert_ptr_equal(owner, &world);
	tell('g', id);
}

static void on_synced(void *owner)
{
	assert_ptr_equal(owner, &world);
	tell('s', NULL);
}

static void expect_heard(const char *text)
{
	assert_string_equal(world.heard.data != NULL ? world.heard.data : "",
		text);
	buffer_clear(&world.heard);
}

static void expect_path(const char *part)
{
	assert_non_null(world.request);
	if (strstr(world.request->path, part) == NULL) {
		fail_msg("'%s' is not in %s", part, world.request->path);
	}
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.now_us = 1000000000;
	world.heard = BUFFER_MAX(10000);
	world.reflector = reflector_new(NULL,
		&(struct reflector_options){
			.path = "/api/v1/pods",
			.field_selector = "a!=b",
		},
		&(struct reflector_handler){
			.on_object = on_object,
			.on_gone = on_gone,
			.on_synced = on_synced,
			.owner = &world,
		});
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	reflector_close(take_ptr(world.reflector));
	assert_null(world.request);
	assert_true(world.timer_is_closed);
	buffer_fini(&world.heard);
	return 0;
}

/* Brings it to an open watch from version 10 with a/x=1 and a/y=2. */
static void begin_watch(void)
{
	answer_page(X1 "," Y2, "10", "");
	stream("");
	expect_heard("o:a/x=1 o:a/y=2 synced ");
}

#define with_world(test)                                                       \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* ---- while all is well ---- */

static void lists_by_pages_then_watches(void **state)
{
	struct reflector_state now;

	(void)state;
	assert_string_equal(world.request->path,
		"/api/v1/pods?limit=500&fieldSelector=a%21%3Db");
	answer_page(X1 "," Y2, "10", "tok=1");
	expect_heard("o:a/x=1 o:a/y=2 ");
	assert_false(reflector_state(world.reflector).is_synced);
	assert_string_equal(world.request->path,
		"/api/v1/pods?limit=500&continue=tok%3D1"
		"&fieldSelector=a%21%3Db");
	answer_page(META("", "node", "3", "1"), "10", "");
	expect_heard("o:/node=3 synced ");
	expect_path(
		"/api/v1/pods?watch=1&allowWatchBookmarks=true"
		"&resourceVersion=10&timeoutSeconds=");
	expect_path("&fieldSelector=a%21%3Db");
	now = reflector_state(world.reflector);
	assert_true(now.is_synced);
	assert_false(now.is_watching);
	assert_int_equal(now.contact_us, 1000000000);
	pass(5);
	stream("");
	now = reflector_state(world.reflector);
	assert_true(now.is_watching);
	assert_int_equal(now.contact_us, 1000000005);
	assert_string_equal(now.trouble, "");
}

static void lists_large_objects_in_smaller_pages(void **state)
{
	const struct kube_answer too_large = {
		.body = "",
		.is_too_large = true,
		.error = "the answer is larger than 67108864 bytes",
	};

	(void)state;
	expect_path("limit=500");
	answer_page(X1, "10", "token");
	answer_full(&too_large);
	expect_path("limit=125");
	expect_path("continue=token");
	answer_full(&too_large);
	expect_path("limit=31");
	answer_full(&too_large);
	answer_full(&too_large);
	expect_path("limit=1&");
	answer_full(&too_large);
	assert_null(world.request);
	fire();
	expect_path("limit=1&");
	answer_page(Y2, "10", "");
	expect_heard("o:a/x=1 o:a/y=2 synced ");
	answer(410, "too old");
	fire();
	expect_path("limit=500");
}

static void follows_a_watch_and_goes_on_where_it_ended(void **state)
{
	(void)state;
	begin_watch();
	stream(EVENT("MODIFIED", "x", "1", "11"));
	stream(EVENT("ADDED", "z", "3", "12"));
	stream(EVENT("DELETED", "y", "2", "13"));
	stream(EVENT("DELETED", "y", "2", "14"));
	stream(EVENT("BOOKMARK", "", "", "20"));
	expect_heard("o:a/x=1 o:a/z=3 g:a/y=2 ");
	pass(300000000);
	answer(200, "");
	assert_int_equal(world.timer.wait_ms, 0);
	assert_false(reflector_state(world.reflector).is_watching);
	fire();
	expect_path("resourceVersion=20&");
	expect_heard("");
}

static void puts_lines_together(void **state)
{
	(void)state;
	begin_watch();
	stream("{\"type\":\"MODIFIED\",\"object\":{\"metadata\":");
	stream("{\"namespace\":\"a\",\"name\":\"x\",\"uid\":\"1\",");
	stream("\"resourceVersion\":\"11\"}}}");
	expect_heard("");
	stream("\n");
	expect_heard("o:a/x=1 ");
}

static void reports_what_vanished_in_a_gap(void **state)
{
	(void)state;
	begin_watch();
	pass(60000000);
	stream(FAILURE("410", "too old"));
	assert_string_equal(reflector_state(world.reflector).trouble,
		"watch of /api/v1/pods ended: too old");
	assert_int_equal(world.timer.wait_ms, 0);
	fire();
	expect_path("?limit=500&field");
	answer_page(META("a", "y", "4", "1") "," META("a", "z", "3", "1"), "30",
		"");
	expect_heard("g:a/y=2 o:a/y=4 o:a/z=3 g:a/x=1 ");
	expect_path("resourceVersion=30&");
	stream("");
	assert_string_equal(reflector_state(world.reflector).trouble, "");
}

static void leaves_objects_without_a_name_alone(void **state)
{
	(void)state;
	begin_watch();
	stream(EVENT("ADDED", "", "3", "11"));
	stream(EVENT("ADDED", "z", "", "12"));
	stream(EVENT("DELETED", "", "", "13"));
	expect_heard("");
	pass(60000000);
	answer(200, "");
	fire();
	expect_path("resourceVersion=13&");
}

static void may_be_closed_from_every_handler(void **state)
{
	(void)state;
	world.close_on = 'o';
	answer_page(X1 "," Y2, "10", "");
	expect_heard("o:a/x=1 ");
	assert_null(world.request);

	(void)tear_down(state);
	(void)set_up(state);
	world.close_on = 's';
	answer_page(X1, "10", "");
	expect_heard("o:a/x=1 synced ");

	(void)tear_down(state);
	(void)set_up(state);
	begin_watch();
	world.close_on = 'g';
	stream(EVENT("DELETED", "x", "1", "11") "nonsense\n");
	expect_heard("g:a/x=1 ");

	(void)tear_down(state);
	(void)set_up(state);
	begin_watch();
	pass(60000000);
	answer(410, "too old");
	fire();
	world.close_on = 'g';
	answer_page("", "20", "");
	assert_null(world.request);
	assert_null(world.reflector);
}

/* ---- when the server, or the way to it, fails ---- */

static void lists_again_when_the_watch_is_refused_as_too_old(void **state)
{
	(void)state;
	begin_watch();
	pass(60000000);
	answer(200, "");
	fire();
	answer(410, "too old resource version");
	assert_string_equal(reflector_state(world.reflector).trouble,
		"cannot watch /api/v1/pods: too old resource version");
	assert_true(reflector_state(world.reflector).is_refused);
	fire();
	expect_path("?limit=500");
}

static void starts_a_list_over_when_its_token_expired(void **state)
{
	(void)state;
	answer_page(X1 "," Y2, "10", "tok");
	answer(410, "the continue token expired");
	fire();
	assert_null(strstr(world.request->path, "continue"));
	answer_page(X1, "20", "");
	expect_heard("o:a/x=1 o:a/y=2 o:a/x=1 g:a/y=2 synced ");
}

static void goes_on_with_a_list_after_a_passing_failure(void **state)
{
	(void)state;
	answer_page(X1, "10", "tok");
	answer(503, "busy");
	fire();
	expect_path("continue=tok");
	answer_page(Y2, "10", "");
	expect_heard("o:a/x=1 o:a/y=2 synced ");
}

static void waits_longer_with_each_failure(void **state)
{
	static const uint64_t least[] = { 1000, 2000, 4000, 8000, 15000,
		15000 };

	(void)state;
	for (size_t i = 0; i < count_of(least); i++) {
		answer(0, "cannot reach it");
		assert_in_range(world.timer.wait_ms, least[i], 2 * least[i]);
		fire();
	}
	assert_string_equal(reflector_state(world.reflector).trouble,
		"cannot list /api/v1/pods: cannot reach it");
	begin_watch();
	stream(EVENT("MODIFIED", "x", "1", "11"));
	answer(0, "reset");
	assert_in_range(world.timer.wait_ms, 1000, 2000);
}

static void waits_when_watches_end_as_soon_as_they_begin(void **state)
{
	(void)state;
	begin_watch();
	answer(200, "");
	assert_in_range(world.timer.wait_ms, 1000, 2000);
	fire();
	stream("");
	answer(200, "");
	assert_in_range(world.timer.wait_ms, 2000, 4000);
}

static void heeds_what_the_server_asks_for(void **state)
{
	struct kube_answer slow = {
		.status = 429,
		.body = "",
		.retry_after_ms = 17000,
		.error = "slow down",
	};

	(void)state;
	answer_full(&slow);
	assert_int_equal(world.timer.wait_ms, 17000);
	fire();
	slow.retry_after_ms = 86400000;
	answer_full(&slow);
	assert_int_equal(world.timer.wait_ms, 60000);
}

static void keeps_its_place_when_the_server_falters(void **state)
{
	(void)state;
	begin_watch();
	stream(EVENT("MODIFIED", "x", "1", "11"));
	stream(FAILURE("500", "etcd"));
	fire();
	expect_path("resourceVersion=11&");
	answer(403, "forbidden");
	fire();
	expect_path("resourceVersion=11&");
}

/* Its store may be an older one. */
static void lists_again_once_the_server_was_away(void **state)
{
	static const int statuses[] = { 0, 502, 503, 504 };

	(void)state;
	begin_watch();
	for (size_t i = 0; i < count_of(statuses); i++) {
		stream(EVENT("MODIFIED", "x", "1", "11"));
		expect_heard("o:a/x=1 ");
		answer(0, "reset");
		fire();
		expect_path("resourceVersion=11&");
		answer(statuses[i], "nobody is there");
		assert_int_equal(reflector_state(world.reflector).is_refused,
			statuses[i] != 0);
		fire();
		expect_path("?limit=500");
		answer_page(X1, "5", "");
		expect_heard(i == 0 ? "o:a/x=1 g:a/y=2 " : "o:a/x=1 ");
		expect_path("resourceVersion=5&");
		stream("");
	}
}

static void lists_again_after_nonsense(void **state)
{
	(void)state;
	answer_full(&(struct kube_answer){
		.status = 200,
		.body = "<html>",
		.len = 6,
		.error = "",
	});
	assert_string_equal(reflector_state(world.reflector).trouble,
		"list of /api/v1/pods: not a list: byte 0");
	fire();
	begin_watch();
	stream("nonsense\n");
	assert_non_null(strstr(reflector_state(world.reflector).trouble,
		"watch of /api/v1/pods: cannot read a watch event"));
	fire();
	expect_path("?limit=500");
}

static void lists_again_after_a_line_without_end(void **state)
{
	char *bytes = xcalloc((4 << 20) + 2, 1);

	(void)state;
	memset(bytes, ' ', (4 << 20) + 1);
	begin_watch();
	stream(bytes);
	free(bytes);
	assert_string_equal(reflector_state(world.reflector).trouble,
		"watch of /api/v1/pods: a line is longer than 4194304 bytes");
	fire();
	expect_path("?limit=500");
}

static void refuses_a_token_without_end(void **state)
{
	char *token = xcalloc(70000, 1);

	(void)state;
	memset(token, 'x', 69999);
	answer_page(X1, "10", token);
	free(token);
	assert_null(world.request);
	assert_non_null(strstr(reflector_state(world.reflector).trouble,
		"continue token is too long"));
	fire();
	expect_path("?limit=500");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_world(lists_by_pages_then_watches),
		with_world(lists_large_objects_in_smaller_pages),
		with_world(follows_a_watch_and_goes_on_where_it_ended),
		with_world(puts_lines_together),
		with_world(reports_what_vanished_in_a_gap),
		with_world(leaves_objects_without_a_name_alone),
		with_world(may_be_closed_from_every_handler),
		with_world(lists_again_when_the_watch_is_refused_as_too_old),
		with_world(starts_a_list_over_when_its_token_expired),
		with_world(goes_on_with_a_list_after_a_passing_failure),
		with_world(waits_longer_with_each_failure),
		with_world(waits_when_watches_end_as_soon_as_they_begin),
		with_world(heeds_what_the_server_asks_for),
		with_world(keeps_its_place_when_the_server_falters),
		with_world(lists_again_once_the_server_was_away),
		with_world(lists_again_after_nonsense),
		with_world(lists_again_after_a_line_without_end),
		with_world(refuses_a_token_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
