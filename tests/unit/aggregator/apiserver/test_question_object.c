#include "aggregator/apiserver/question_object.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <string.h>

static const struct rest_path path = { .kind = API_PLACEMENTS,
	.namespace = "shop" };

static int read_text(struct question_object *out, const char *text,
	struct error *err)
{
	return question_object_read(out, &path, text, strlen(text), err);
}

static void the_spec_is_kept_as_it_was_sent(void **state)
{
	static const char text[] =
		" {\"metadata\":{\"name\":\"q\\\"1\",\"namespace\":\"shop\","
		"\"spec\":{}},\"kind\":\"Placement\",\"apiVersion\":"
		"\"load.plimsoll.io/v1alpha1\",\"status\":{\"chosen\":\"x\"},"
		"\"spec\" : { \"n\":18446744073709551617, \"a\":\"}\\\"\" } }";
	scoped_buffer struct buffer out = BUFFER_MAX(1024);
	struct question_object object;

	(void)state;
	assert_int_equal(read_text(&object, text, NULL), 0);
	assert_string_equal(object.spec,
		"{ \"n\":18446744073709551617, \"a\":\"}\\\"\" }");
	assert_int_equal(object.spec_len, strlen(object.spec));
	question_object_write(&out, &object, &path, "{\"chosen\":null}");
	assert_string_equal(out.data,
		"{\"kind\":\"Placement\",\"apiVersion\":"
		"\"load.plimsoll.io/v1alpha1\",\"metadata\":{\"name\":"
		"\"q\\\"1\",\"namespace\":\"shop\"},\"spec\":{ \"n\":"
		"18446744073709551617, \"a\":\"}\\\"\" },\"status\":"
		"{\"chosen\":null}}\n");
	question_object_fini(&object);
}

static void a_spec_alone_is_enough(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1024);
	struct question_object object;

	(void)state;
	assert_int_equal(read_text(&object, "{\"spec\":{}}", NULL), 0);
	question_object_write(&out, &object, &path, "{}");
	assert_non_null(strstr(out.data, "{\"namespace\":\"shop\"}"));
	question_object_fini(&object);
}

static void other_bodies_are_refused_in_words(void **state)
{
	static const struct {
		const char *text;
		int status;
		const char *sentence;
	} cases[] = {
		{ "", 400, "invalid JSON" },
		{ "kind: Placement", 400, "invalid JSON" },
		{ "{\"spec\":{}} {}", 400, "more than one" },
		{ "[]", 400, "not a Placement" },
		{ "{\"kind\":\"Plan\",\"spec\":{}}", 400, "not a Placement" },
		{ "{\"kind\":7,\"spec\":{}}", 400, "not a Placement" },
		{ "{\"apiVersion\":\"v1\",\"spec\":{}}", 400,
			"not a Placement of load.plimsoll.io/v1alpha1" },
		{ "{\"metadata\":{\"namespace\":\"bank\"},\"spec\":{}}", 400,
			"the namespace of the object" },
		{ "{}", 422, "has no spec" },
		{ "{\"spec\":[]}", 422, "has no spec" },
		{ "{\"\\u0073pec\":{}}", 422, "has no spec" },
		{ "{\"\\u0073pec\":{},\"spec\":7}", 422, "has no spec" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct question_object object;
		struct error error;

		assert_int_equal(read_text(&object, cases[i].text, &error),
			cases[i].status);
		assert_non_null(strstr(error.text, cases[i].sentence));
		assert_null(object.spec);
	}
}

static void a_nul_and_a_long_name_are_refused(void **state)
{
	static const char nul[] = "{\"spec\":{\"a\":\"\0\"}}";
	char name[QUESTION_NAME_MAX + 1] = { 0 };
	scoped_free char *text = NULL;
	struct question_object object;

	(void)state;
	assert_int_equal(question_object_read(&object, &path, nul,
				 sizeof(nul) - 1, NULL),
		400);
	memset(name, 'n', QUESTION_NAME_MAX);
	text = xasprintf("{\"metadata\":{\"name\":\"%s\"},\"spec\":{}}", name);
	assert_int_equal(read_text(&object, text, NULL), 422);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_spec_is_kept_as_it_was_sent),
		cmocka_unit_test(a_spec_alone_is_enough),
		cmocka_unit_test(other_bodies_are_refused_in_words),
		cmocka_unit_test(a_nul_and_a_long_name_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
