#include "kubectl/selector_json.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <stdio.h>

static void labels_become_an_object(void **state)
{
	scoped_free char *json = NULL;

	(void)state;
	assert_int_equal(selector_json(&json, "a.b/c=d,e=", NULL), 0);
	assert_string_equal(json, "{\"a.b/c\":\"d\",\"e\":\"\"}");
}

static void other_texts_are_refused(void **state)
{
	static const char *const texts[] = { "", "a", "=b", "a=b,", ",a=b",
		"a=b,a=c", "a=b=c", "a=\"b", "a b=c", "a in (b)" };

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		char *json = NULL;

		assert_int_equal(selector_json(&json, texts[i], NULL), -EINVAL);
		assert_null(json);
	}
}

static void a_flood_of_labels_is_refused(void **state)
{
	char text[1000];
	char *json = NULL;
	size_t len = 0;

	(void)state;
	for (int i = 0; i < 40; i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len,
			"%sk%d=v", i == 0 ? "" : ",", i);
	}
	assert_int_equal(selector_json(&json, text, NULL), -EINVAL);
	assert_null(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_become_an_object),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(a_flood_of_labels_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
