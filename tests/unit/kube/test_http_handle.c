/* When a request may use the options of the one before. */
#include "kube/http_handle.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdlib.h>

static const struct http_tls tls = { .ca = "ca", .cert = "cert", .key = "key" };
static const struct http_call call = { .tls = &tls };

static void serves_the_same_material(void **state)
{
	char ca[] = "ca";
	const struct http_tls same = { .ca = ca, .cert = "cert", .key = "key" };
	const struct http_call other = { .tls = &same, .method = "PUT" };
	struct http_setup *setup = http_setup_new("tester/1", &call);

	(void)state;
	assert_true(http_setup_serves(setup, &call));
	assert_true(http_setup_serves(setup, &other));
	http_setup_release(setup);
}

static void does_not_serve_other_material(void **state)
{
	const struct http_tls others[] = {
		{ .ca = "new", .cert = "cert", .key = "key" },
		{ .ca = NULL, .cert = "cert", .key = "key" },
		{ .ca = "ca", .cert = "new", .key = "key" },
		{ .ca = "ca", .cert = "cert", .key = "new" },
		{ .ca = "ca", .cert = NULL, .key = NULL },
	};
	struct http_setup *setup = http_setup_new("tester/1", &call);

	(void)state;
	for (size_t i = 0; i < count_of(others); i++) {
		const struct http_call other = { .tls = &others[i] };

		assert_false(http_setup_serves(setup, &other));
	}
	assert_false(http_setup_serves(setup, &(struct http_call){ 0 }));
	assert_false(http_setup_serves(setup,
		&(struct http_call){ .tls = &tls, .allows_plain = true }));
	http_setup_release(setup);
}

static void keeps_a_handle_for_another_setup(void **state)
{
	struct http_setup *first = http_setup_new("tester/1", &call);
	struct http_setup *second = http_setup_new("tester/1", &call);
	struct http_handle handle = { 0 };
	CURL *easy;

	(void)state;
	http_handle_set_up(&handle, first);
	easy = handle.easy;
	http_setup_release(first); /* the handle keeps it */
	http_handle_clear(&handle);
	http_handle_set_up(&handle, second);
	assert_ptr_equal(handle.easy, easy);
	assert_ptr_equal(handle.setup, second);
	http_handle_fini(&handle);
	http_setup_release(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(serves_the_same_material),
		cmocka_unit_test(does_not_serve_other_material),
		cmocka_unit_test(keeps_a_handle_for_another_setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
