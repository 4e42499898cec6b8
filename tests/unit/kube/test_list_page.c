#include "kube/list_page.h"

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

struct names {
	struct buffer text;
	size_t stop_after; /* number of items; 0: never */
	size_t count;
};

static bool collect(void *owner, const struct json_value *item)
{
	struct names *names = owner;

	buffer_printf(&names->text, "%s,",
		json_value_text_at(item, "metadata/name", "?"));
	names->count++;
	return names->count != names->stop_after;
}

/* Reads text without the NUL after it. */
static int read_text(struct list_page *page, const char *text,
	struct names *names, struct error *err)
{
	size_t len = strlen(text);
	scoped_free char *bytes = xmemdup(text, len);

	return list_page_read(page, bytes, len, collect, names, err);
}

static void reads_items_and_the_continue_token(void **state)
{
	struct names names = { .text = BUFFER_MAX(1000) };
	struct list_page page;

	(void)state;
	assert_int_equal(
		read_text(&page,
			"{\"kind\":\"PodList\",\"apiVersion\":\"v1\","
			"\"metadata\":{\"resourceVersion\":\"12\","
			"\"continue\":\"abc\"},\n\"items\":[ "
			"{\"metadata\":{\"name\":\"a\",\"x\":\"]}\\\"[\"}} ,"
			"{\"metadata\":{\"name\":\"b\",\"y\":[1,[{}]]}}]}\n",
			&names, NULL),
		0);
	assert_string_equal(names.text.data, "a,b,");
	assert_string_equal(page.resource_version, "12");
	assert_string_equal(page.next, "abc");
	list_page_fini(&page);
	buffer_fini(&names.text);
}

static void reads_lists_without_items(void **state)
{
	static const char *const texts[] = {
		"{\"items\":[],\"metadata\":{}}",
		"{\"items\":null,\"metadata\":{}}",
		" { \"metadata\" : { } , \"items\" : [ ] } ",
	};
	struct names names = { .text = BUFFER_MAX(1000) };

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		struct list_page page;

		assert_int_equal(read_text(&page, texts[i], &names, NULL), 0);
		assert_string_equal(page.resource_version, "");
		assert_string_equal(page.next, "");
		list_page_fini(&page);
	}
	assert_int_equal(names.count, 0);
}

static void expect_refused(int result, const char *text)
{
	if (result != -EBADMSG) {
		fail_msg("taken: %s", text);
	}
}

static void refuses_anything_but_a_list(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{}",
		"{\"items\":[]}",
		"{\"metadata\":{}}",
		"{\"metadata\":{},\"items\":{}}",
		"{\"metadata\":{},\"items\":[}",
		"{\"metadata\":{},\"items\":[1,]}",
		"{\"metadata\":{},\"items\":[{]}",
		"{\"metadata\":{},\"items\":[{\"a\":}]}",
		"{\"metadata\":{},\"items\":[\"a]}",
		"{\"metadata\":{},\"items\":[]",
		"{\"metadata\":{},\"items\":[]} x",
		"{\"metadata\":{,\"items\":[]}",
		"{\"metadata\":{}x\"items\":[]}",
		"{metadata:{},\"items\":[]}",
		"{\"metadata\" {},\"items\":[]}",
		"{\"metadata\":{},\"items\":[],\"a\\",
	};
	struct names names = { .text = BUFFER_MAX(1000) };

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		struct list_page page = { 0 };
		struct error err = { 0 };

		expect_refused(read_text(&page, texts[i], &names, &err),
			texts[i]);
		assert_true(err.text[0] != '\0');
		assert_null(page.next);
	}
	buffer_fini(&names.text);
}

static void stops_if_the_callback_returns_false(void **state)
{
	struct names names = { .text = BUFFER_MAX(1000), .stop_after = 2 };
	struct list_page page;

	(void)state;
	assert_int_equal(
		read_text(&page, "{\"metadata\":{},\"items\":[{},{},{}]}",
			&names, NULL),
		-ECANCELED);
	assert_int_equal(names.count, 2);
	buffer_fini(&names.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_items_and_the_continue_token),
		cmocka_unit_test(reads_lists_without_items),
		cmocka_unit_test(refuses_anything_but_a_list),
		cmocka_unit_test(stops_if_the_callback_returns_false),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
