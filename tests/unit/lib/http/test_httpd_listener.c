#include "lib/http/httpd_listener.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

static void serve(void *owner, struct httpd_request *request)
{
	(void)owner;
	httpd_reply(request, 200, "text/plain", "", 0);
}

static int open_with(uv_loop_t *loop, struct httpd_listener **out,
	const struct tls_files *tls, struct error *err)
{
	return httpd_listener_new(out, loop,
		&(struct httpd_listener_options){ .address = "127.0.0.1:0",
			.tls = tls,
			.serve = serve },
		err);
}

static void serves_plain_http_without_a_certificate(void **state)
{
	static const struct tls_files none = { NULL };
	const struct tls_files *cases[] = { NULL, &none };
	uv_loop_t loop;

	(void)state;
	assert_int_equal(uv_loop_init(&loop), 0);
	for (size_t i = 0; i < count_of(cases); i++) {
		struct httpd_listener *listener = NULL;

		assert_int_equal(open_with(&loop, &listener, cases[i], NULL),
			0);
		assert_int_not_equal(httpd_listener_port(listener), 0);
		httpd_listener_close(listener);
	}
	httpd_listener_close(NULL);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void rejects_tls_files_that_cannot_be_read(void **state)
{
	static const struct {
		struct tls_files files;
		int error;
		const char *text;
	} cases[] = {
		{ { NULL, "/nowhere/a.crt", "/nowhere/a.key" }, -ENOENT,
			"/nowhere/a.crt" },
		{ { NULL, "/nowhere/a.crt", NULL }, -EINVAL, "key" },
	};
	uv_loop_t loop;

	(void)state;
	assert_int_equal(uv_loop_init(&loop), 0);
	for (size_t i = 0; i < count_of(cases); i++) {
		struct httpd_listener *listener = NULL;
		struct error err;

		assert_int_equal(
			open_with(&loop, &listener, &cases[i].files, &err),
			cases[i].error);
		assert_non_null(strstr(err.text, cases[i].text));
		assert_null(listener);
	}
	assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(serves_plain_http_without_a_certificate),
		cmocka_unit_test(rejects_tls_files_that_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
