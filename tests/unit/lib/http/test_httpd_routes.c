#include "lib/http/httpd_routes.h"

#include "tests/support/blocking_client.h"
#include "tests/support/idle_clients.h"

#include <stdlib.h>

struct fixture {
	uv_loop_t loop;
	struct httpd_routes routes, mounted;
	struct httpd *httpd;
	struct blocking_client client;
};

static void reply(struct httpd_request *request, const char *text)
{
	httpd_reply(request, 200, "text/plain", text, strlen(text));
}

static void get(void *owner, struct httpd_request *request)
{
	assert_non_null(((struct fixture *)owner)->httpd);
	reply(request, "got");
}

static void post(void *owner, struct httpd_request *request)
{
	(void)owner;
	reply(request, "posted");
}

static void page(void *owner, struct httpd_request *request)
{
	assert_non_null(((struct fixture *)owner)->httpd);
	reply(request, "a page");
}

static void remove_it(void *owner, struct httpd_request *request)
{
	(void)owner;
	reply(request, "removed");
}

static void get_mounted(void *owner, struct httpd_request *request)
{
	reply(request, owner);
}

static char mounted_owner[] = "mounted";

static const struct httpd_route mounted_routes[] = {
	{ "/apis/", .get = get_mounted },
	{ "/open", .get = get_mounted, .is_open = true },
};

static const struct httpd_route routes[] = {
	{ "/healthz", .get = get, .is_open = true },
	{ "/things", .get = get, .post = post },
	{ "/things/", .get = get, .remove = remove_it,
		.shown = { "/things/NAME", "/things/NAME/history" } },
	{ "//things", .get = get, .is_hidden = true },
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	assert_int_equal(uv_loop_init(&f->loop), 0);
	f->routes = (struct httpd_routes){ .routes = routes,
		.count = count_of(routes),
		.owner = f,
		.page = page };
	assert_int_equal(
		httpd_new(&f->httpd, &f->loop,
			&(struct httpd_options){ .address = "127.0.0.1:0",
				.serve = httpd_routes_serve,
				.owner = &f->routes },
			NULL),
		0);
	f->client.port = httpd_port(f->httpd);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	httpd_close(f->httpd);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	free(f);
	return 0;
}

struct exchange {
	const char *method, *path;
	int status;
	const char *end; /* of the answer */
};

static bool has_end(const char *answer, const char *end)
{
	size_t len = strlen(answer);
	size_t end_len = strlen(end);

	return len >= end_len && strcmp(answer + len - end_len, end) == 0;
}

static void assert_answer(struct fixture *f, const struct exchange *exchange,
	const char *header)
{
	const char *head = exchange->status == 404 ? "" : "\r\n\r\n";
	scoped_free char *end = xasprintf("%s%s", head, exchange->end);

	blocking_client_send(&f->client, &f->loop, exchange->method,
		exchange->path, header);
	run_until(&f->loop, &f->client.is_answered);
	blocking_client_check(&f->client, exchange->status);
	if (!has_end(f->client.answer, end)) {
		fail_msg("%s: '%s'", exchange->path, f->client.answer);
	}
}

static void assert_exchanges(struct fixture *f, const struct exchange *cases,
	size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_answer(f, &cases[i], "");
	}
}

static void dispatches_by_path_and_method(void **state)
{
	static const struct exchange cases[] = {
		{ "GET", "/healthz", 200, "got" },
		{ "HEAD", "/healthz", 200, "" },
		{ "GET", "/things", 200, "got" },
		{ "POST", "/things", 200, "posted" },
		{ "GET", "/things/", 200, "got" },
		{ "DELETE", "/things/a/b", 200, "removed" },
		{ "GET", "//things", 200, "got" },
	};

	assert_exchanges(*state, cases, count_of(cases));
}

static const char list[] =
	"{\"paths\":[\"/healthz\",\"/things\",\"/things/NAME\","
	"\"/things/NAME/history\"]}\n";

static void the_root_lists_the_paths(void **state)
{
	static const struct exchange cases[] = {
		{ "GET", "/", 200, list },
		{ "HEAD", "/", 200, "" },
		{ "POST", "/", 405,
			"{\"error\":\"method not allowed, use GET\"}\n" },
	};

	assert_exchanges(*state, cases, count_of(cases));
}

static void a_refusal_says_what_there_is(void **state)
{
	static const char paths[] =
		"known paths: /healthz, /things, /things/NAME, "
		"/things/NAME/history\"}\n";
	scoped_free char *other =
		xasprintf("{\"error\":\"no such path: /thing; %s", paths);
	scoped_free char *below =
		xasprintf("{\"error\":\"no such path: /healthz/; %s", paths);
	const struct exchange cases[] = {
		{ "GET", "/thing", 404, other },
		{ "DELETE", "/healthz/", 404, below },
		{ "PUT", "/things", 405,
			"{\"error\":\"method not allowed, use GET or POST\"}"
			"\n" },
		{ "POST", "/things/a", 405,
			"{\"error\":\"method not allowed, use GET or DELETE\"}"
			"\n" },
		{ "POST", "/healthz", 405,
			"{\"error\":\"method not allowed, use GET\"}\n" },
	};

	assert_exchanges(*state, cases, count_of(cases));
}

static void the_root_is_the_page_for_who_prefers_html(void **state)
{
	static const char html[] = "Accept: text/html\r\n";
	static const struct {
		const char *header;
		struct exchange exchange;
	} cases[] = {
		{ html, { "GET", "/", 200, "a page" } },
		{ html, { "HEAD", "/", 200, "" } },
		{ html, { "GET", "/things", 200, "got" } },
		{ "Accept: text/html,application/xml;q=0.9,*/*;q=0.8\r\n",
			{ "GET", "/", 200, "a page" } },
		{ "Accept: */*\r\n", { "GET", "/", 200, list } },
		{ "Accept: text/html;q=0.5,application/json\r\n",
			{ "GET", "/", 200, list } },
	};

	for (size_t i = 0; i < count_of(cases); i++) {
		assert_answer(*state, &cases[i].exchange, cases[i].header);
	}
}

static void mounted_routes_have_an_owner_of_their_own(void **state)
{
	static const struct exchange cases[] = {
		{ "GET", "/apis/x", 200, "mounted" },
		{ "GET", "/open", 200, "mounted" },
		{ "GET", "/healthz", 200, "got" },
		{ "POST", "/apis/x", 405,
			"{\"error\":\"method not allowed, use GET\"}\n" },
		{ "GET", "/", 200,
			"{\"paths\":[\"/apis/\",\"/open\",\"/healthz\","
			"\"/things\",\"/things/NAME\","
			"\"/things/NAME/history\"]}\n" },
		{ "GET", "/x", 404,
			"known paths: /apis/, /open, /healthz, /things, "
			"/things/NAME, /things/NAME/history\"}\n" },
	};
	struct fixture *f = *state;

	f->mounted = (struct httpd_routes){ .routes = mounted_routes,
		.count = count_of(mounted_routes),
		.owner = mounted_owner };
	f->routes.mounted = &f->mounted;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_answer(f, &cases[i], "");
	}
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(dispatches_by_path_and_method),
		test(the_root_lists_the_paths),
		test(a_refusal_says_what_there_is),
		test(the_root_is_the_page_for_who_prefers_html),
		test(mounted_routes_have_an_owner_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
