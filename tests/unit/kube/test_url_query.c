#include "kube/url_query.h"

#include "lib/buffer.h"
#include "tests/support/cm.h"

static void joins_and_encodes_parameters(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1000);

	(void)state;
	buffer_text(&out, "/api/v1/pods");
	url_query_add(&out, "limit", "500");
	url_query_add(&out, "continue", NULL);
	url_query_add(&out, "fieldSelector", "status.phase!=Failed,a=b c~");
	url_query_add(&out, "x", "\xc3\xbc");
	assert_string_equal(out.data,
		"/api/v1/pods?limit=500&fieldSelector="
		"status.phase%21%3DFailed%2Ca%3Db%20c~&x=%C3%BC");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins_and_encodes_parameters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
