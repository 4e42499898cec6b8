/* A server that libmicrohttpd does not start. */
#include "lib/http/httpd.h"

#include "tests/support/cm.h"

#include <errno.h>
#include <microhttpd.h>
#include <string.h>

struct MHD_Daemon *__wrap_MHD_start_daemon(unsigned int flags, uint16_t port,
	MHD_AcceptPolicyCallback accept, void *accept_owner,
	MHD_AccessHandlerCallback serve, void *owner, ...);

struct MHD_Daemon *__wrap_MHD_start_daemon(unsigned int flags, uint16_t port,
	MHD_AcceptPolicyCallback accept, void *accept_owner,
	MHD_AccessHandlerCallback serve, void *owner, ...)
{
	(void)flags;
	(void)port;
	(void)accept;
	(void)accept_owner;
	(void)serve;
	(void)owner;
	return NULL;
}

static void serve_nothing(void *owner, struct httpd_request *request)
{
	(void)owner;
	(void)request;
	fail();
}

static void a_server_that_does_not_start_leaves_nothing(void **state)
{
	struct httpd *httpd = NULL;
	struct error err = { 0 };
	uv_loop_t loop;

	(void)state;
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(
		httpd_new(&httpd, &loop,
			&(struct httpd_options){ .address = "127.0.0.1:0",
				.serve = serve_nothing },
			&err),
		-EINVAL);
	assert_string_equal(err.text, "cannot serve HTTP on '127.0.0.1:0'");
	assert_null(httpd);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_that_does_not_start_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
