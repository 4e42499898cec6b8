#include "kube/list_reader.h"

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

/* Feeds pieces of so many bytes, each in memory of its own. */
static int feed(struct list_reader *reader, const char *text, size_t piece,
	struct names *names, struct error *err)
{
	size_t left = strlen(text);
	int result = 0;

	while (result == 0 && left > 0) {
		size_t len = left < piece ? left : piece;
		scoped_free char *bytes = xmemdup(text, len);

		result = list_reader_feed(reader, bytes, len, collect, names,
			err);
		text += len;
		left -= len;
	}
	return result;
}

static int read_text(const char *text, size_t piece, struct names *names,
	struct error *err)
{
	struct list_reader reader;
	int result;

	list_reader_init(&reader, 1000);
	result = feed(&reader, text, piece, names, err);
	if (result == 0) {
		result = list_reader_end(&reader, err);
	}
	list_reader_fini(&reader);
	return result;
}

static const char two_items[] =
	"{\"kind\":\"PodList\",\"apiVersion\":\"v1\","
	"\"metadata\":{\"resourceVersion\":\"12\",\"continue\":\"\","
	"\"remainingItemCount\":0},\n\"more\": 12 ,\"items\":[ "
	"{\"metadata\":{\"name\":\"a\",\"x\":\"]}\\\"[\\\\\"}} ,"
	"{\"metadata\":{\"name\":\"b\",\"y\":[1,[{}]]}}]}\n";

static void reads_items_wherever_the_text_is_cut(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < sizeof(two_items); piece++) {
		struct names names = { .text = BUFFER_MAX(1000) };
		struct list_reader reader;

		list_reader_init(&reader, 1000);
		assert_int_equal(feed(&reader, two_items, piece, &names, NULL),
			0);
		assert_int_equal(list_reader_end(&reader, NULL), 0);
		assert_string_equal(names.text.data, "a,b,");
		assert_string_equal(reader.resource_version, "12");
		list_reader_fini(&reader);
		buffer_fini(&names.text);
	}
}

static void delivers_an_item_when_it_is_complete(void **state)
{
	struct names names = { .text = BUFFER_MAX(1000) };
	struct list_reader reader;

	(void)state;
	list_reader_init(&reader, 1000);
	assert_int_equal(feed(&reader, "{\"items\":[{},{", 100, &names, NULL),
		0);
	assert_int_equal(names.count, 1);
	assert_int_equal(feed(&reader, "}", 100, &names, NULL), 0);
	assert_int_equal(names.count, 2);
	assert_int_equal(list_reader_end(&reader, NULL), -EBADMSG);
	list_reader_fini(&reader);
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
		assert_int_equal(read_text(texts[i], 1, &names, NULL), 0);
		assert_int_equal(read_text(texts[i], 100, &names, NULL), 0);
	}
	assert_int_equal(names.count, 0);
}

static const char *const no_lists[] = {
	"",
	"[]",
	"{}",
	"<html>",
	"{\"items\":[]}",
	"{\"metadata\":{}}",
	"{\"metadata\":{\"continue\":\"abc\"},\"items\":[]}",
	"{\"metadata\":{},\"items\":{}}",
	"{\"metadata\":{},\"items\":12}",
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
	"{\"metadata\":{},\"items\":[1\"a\",]}",
};

static void expect_refused(const char *text, size_t piece)
{
	struct names names = { .text = BUFFER_MAX(1000) };
	struct error err = { 0 };

	if (read_text(text, piece, &names, &err) != -EBADMSG) {
		fail_msg("taken: %s", text);
	}
	assert_true(err.text[0] != '\0');
	buffer_fini(&names.text);
}

static void refuses_anything_but_a_whole_list(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(no_lists); i++) {
		for (size_t piece = 1; piece < 100; piece++) {
			expect_refused(no_lists[i], piece);
		}
	}
}

static void refuses_an_item_above_the_maximum(void **state)
{
	struct names names = { .text = BUFFER_MAX(1000) };
	scoped_free char *spaces = xasprintf("%200000s", "");
	scoped_free char *text =
		xasprintf("{\"metadata\":{},\"items\":[{%s}]}", spaces);
	struct error err;

	(void)state;
	assert_int_equal(read_text(text, 100, &names, &err), -EMSGSIZE);
	assert_string_equal(err.text,
		"an item of the list is larger than 1000 bytes");
	assert_int_equal(read_text(text, SIZE_MAX, &names, &err), -EMSGSIZE);
	assert_int_equal(names.count, 0);
}

static void stops_if_the_callback_returns_false(void **state)
{
	struct names names = { .text = BUFFER_MAX(1000), .stop_after = 2 };
	struct list_reader reader;

	(void)state;
	list_reader_init(&reader, 1000);
	assert_int_equal(feed(&reader, "{\"metadata\":{},\"items\":[{},{},{}]}",
				 1000, &names, NULL),
		0);
	assert_int_equal(names.count, 2);
	list_reader_fini(&reader);
	buffer_fini(&names.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_items_wherever_the_text_is_cut),
		cmocka_unit_test(delivers_an_item_when_it_is_complete),
		cmocka_unit_test(reads_lists_without_items),
		cmocka_unit_test(refuses_anything_but_a_whole_list),
		cmocka_unit_test(refuses_an_item_above_the_maximum),
		cmocka_unit_test(stops_if_the_callback_returns_false),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
