#include "aggregator/live/object_labels.h"

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <string.h>

static void put(struct object_labels *labels, const char *key, const char *text)
{
	struct json_value *object;

	assert_int_equal(json_value_parse(&object, text, strlen(text), NULL),
		0);
	object_labels_put(labels, key, object);
	json_value_free(object);
}

static void an_object_has_its_labels_until_it_is_removed(void **state)
{
	struct object_labels *labels = object_labels_new();
	const struct label_set *set;
	const char *key, *value;
	size_t at = 0, count = 0;

	(void)state;
	put(labels, "n1",
		"{\"metadata\":{\"creationTimestamp\":\"1970-01-01T00:00:02Z\","
		"\"labels\":{\"a\":\"1\",\"b/c\":\"\",\"d\":5}}}");
	set = object_labels_find(labels, "n1");
	assert_string_equal(label_set_get(set, "a"), "1");
	assert_string_equal(label_set_get(set, "b/c"), "");
	assert_null(label_set_get(set, "d"));
	assert_int_equal(label_set_created_us(set), 2000000);
	while (label_set_next(set, &at, &key, &value)) {
		count++;
	}
	assert_int_equal(count, 2);
	put(labels, "n1", "{\"metadata\":{\"labels\":{\"a\":\"2\"}}}");
	set = object_labels_find(labels, "n1");
	assert_string_equal(label_set_get(set, "a"), "2");
	assert_null(label_set_get(set, "b/c"));
	object_labels_remove(labels, "n1");
	assert_null(object_labels_find(labels, "n1"));
	object_labels_free(labels);
}

/* In any order; the keys have two bytes. */
static void a_label_is_found_among_as_many_as_there_is_room_for(void **state)
{
	enum { LABELS = OBJECT_LABELS_BYTES / 5 };
	struct object_labels *labels = object_labels_new();
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 16);
	const struct label_set *set;
	const char *key, *value, *last = "";
	size_t at = 0;

	(void)state;
	buffer_text(&text, "{\"metadata\":{\"labels\":{");
	for (int i = 0; i < LABELS; i++) {
		int n = i * 8 % LABELS;

		buffer_printf(&text, "%s\"%c%c\":\"%c\"", i == 0 ? "" : ",",
			'0' + n / 30, '0' + n % 30, '0' + n % 30);
	}
	buffer_text(&text, "}}}");
	put(labels, "n1", text.data);
	set = object_labels_find(labels, "n1");
	while (label_set_next(set, &at, &key, &value)) {
		assert_true(strcmp(last, key) < 0);
		assert_int_equal(value[0], key[1]);
		assert_ptr_equal(label_set_get(set, key), value);
		last = key;
	}
	assert_int_equal(at, LABELS);
	assert_null(label_set_get(set, ""));
	assert_null(label_set_get(set, "AAA"));
	assert_null(label_set_get(set, "~"));
	object_labels_free(labels);
}

static void labels_beyond_the_limit_are_left_out(void **state)
{
	struct object_labels *labels = object_labels_new();
	scoped_free char *big = xcalloc(OBJECT_LABELS_BYTES + 1, 1);
	scoped_free char *text = NULL;
	const struct label_set *set;

	(void)state;
	memset(big, 'x', OBJECT_LABELS_BYTES);
	text = xasprintf(
		"{\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"%s\","
		"\"c\":\"3\"}}}",
		big);
	put(labels, "n1", text);
	set = object_labels_find(labels, "n1");
	assert_string_equal(label_set_get(set, "a"), "1");
	assert_null(label_set_get(set, "b"));
	assert_string_equal(label_set_get(set, "c"), "3");
	object_labels_free(labels);
}

static void without_a_table_there_are_no_labels(void **state)
{
	size_t at = 0;

	(void)state;
	put(NULL, "n1", "{}");
	object_labels_remove(NULL, "n1");
	assert_null(object_labels_find(NULL, "n1"));
	assert_null(label_set_get(NULL, "a"));
	assert_int_equal(label_set_created_us(NULL), 0);
	assert_false(label_set_next(NULL, &at, NULL, NULL));
	object_labels_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_has_its_labels_until_it_is_removed),
		cmocka_unit_test(
			a_label_is_found_among_as_many_as_there_is_room_for),
		cmocka_unit_test(labels_beyond_the_limit_are_left_out),
		cmocka_unit_test(without_a_table_there_are_no_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
