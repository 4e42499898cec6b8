/* Text from the API server: values, lists, watch events and lines. Each input
 * is parsed as all of them. */
#include "kube/json_scan.h"
#include "kube/json_value.h"
#include "kube/list_reader.h"
#include "kube/watch_event.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct tally {
	size_t count;
	size_t bytes;
};

static bool count_item(void *owner, const struct json_value *item)
{
	struct tally *tally = owner;

	(void)json_value_text_at(item, "metadata/name", "");
	tally->count++;
	return true;
}

static size_t count_members(const struct json_value *object, const char *key)
{
	const struct json_value *member = json_value_first(object);
	size_t count = 0;

	for (; member != NULL; member = json_value_next(member)) {
		count += strcmp(json_value_key(member), key) == 0;
	}
	return count;
}

/* The result does not depend on where the text is cut: 0 or a failure. */
static int read_list(struct tally *tally, const char *text, size_t size,
	size_t piece)
{
	struct list_reader reader;
	int result = 0;

	list_reader_init(&reader, 1 << 20);
	while (result == 0 && size > 0) {
		size_t len = size < piece ? size : piece;

		result = list_reader_feed(&reader, text, len, count_item, tally,
			NULL);
		text += len;
		size -= len;
	}
	if (result == 0) {
		result = list_reader_end(&reader, NULL);
	}
	list_reader_fini(&reader);
	return result;
}

/* The reader finds the same items as cJSON in the whole text. */
static void check_list(const char *text, size_t size)
{
	struct tally tally = { 0 };
	struct tally cut = { 0 };
	struct json_value *root = NULL;
	int result = read_list(&tally, text, size, size);

	assert(read_list(&cut, text, size, 7) == result);
	assert(cut.count == tally.count);
	if (result < 0 || json_value_parse(&root, text, size, NULL) < 0) {
		return;
	}
	if (count_members(root, "items") == 1) {
		assert(json_value_count(json_value_get(root, "items")) ==
			tally.count);
	}
	json_value_free(root);
}

static const struct json_value *skip_fields(const struct json_value *member)
{
	while (member != NULL && json_value_key(member) != NULL &&
		strcmp(json_value_key(member), "managedFields") == 0) {
		member = json_value_next(member);
	}
	return member;
}

static void check_same(const struct json_value *a, const struct json_value *b)
{
	const char *text = json_value_text(a);
	const struct json_value *x = skip_fields(json_value_first(a));
	const struct json_value *y = skip_fields(json_value_first(b));

	assert(json_value_is_object(a) == json_value_is_object(b) &&
		json_value_is_array(a) == json_value_is_array(b));
	assert((text == NULL) == (json_value_text(b) == NULL));
	assert(text == NULL || strcmp(text, json_value_text(b)) == 0);
	while (x != NULL && y != NULL) {
		check_same(x, y);
		x = skip_fields(json_value_next(x));
		y = skip_fields(json_value_next(y));
	}
	assert(x == NULL && y == NULL);
}

/* json_scan_parse_object() drops managedFields and nothing else. */
static void check_rest(const char *text, size_t size)
{
	struct json_value *whole = NULL;
	struct json_value *rest = NULL;

	if (json_value_parse(&whole, text, size, NULL) == 0) {
		int r = json_scan_parse_object(&rest, text, size, NULL);

		assert(r == 0);
		(void)r;
		check_same(whole, rest);
		json_value_free(rest);
		json_value_free(whole);
	}
}

static size_t count_all(const struct json_value *value)
{
	size_t count = 1;

	for (const struct json_value *v = json_value_first(value); v != NULL;
		v = json_value_next(v)) {
		count += count_all(v);
	}
	return count;
}

/* The bound refuses no text but a large one, and no large one passes. */
static void check_bound(const char *text, size_t size)
{
	struct json_value *value = NULL;
	struct json_value *bounded = NULL;
	int r = json_value_parse_bounded(&bounded, text, size, NULL);

	if (r == 0) {
		assert(count_all(bounded) <= JSON_VALUES_MAX);
	} else if (json_value_parse(&value, text, size, NULL) == 0) {
		assert(r == -E2BIG && size > JSON_VALUES_MAX);
	}
	json_value_free(value);
	json_value_free(bounded);
}

static void check_event(const char *text, size_t size)
{
	struct watch_event event;

	if (watch_event_parse(&event, text, size, NULL) == 0) {
		assert(json_value_is_object(event.object));
		assert(event.message != NULL && event.resource_version != NULL);
		watch_event_fini(&event);
	}
}

static bool count_line(void *owner, const char *line, size_t len)
{
	struct tally *tally = owner;

	assert(len > 0 && memchr(line, '\n', len) == NULL);
	check_event(line, len);
	tally->count++;
	tally->bytes += len;
	return true;
}

static struct tally cut(const char *text, size_t size, size_t piece)
{
	struct tally tally = { 0 };
	struct line_reader lines;

	line_reader_init(&lines, size);
	for (size_t at = 0; at < size; at += piece) {
		size_t len = piece < size - at ? piece : size - at;
		int result = line_reader_feed(&lines, text + at, len,
			count_line, &tally, NULL);

		assert(result == 0);
		(void)result;
	}
	line_reader_fini(&lines);
	return tally;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct tally whole = cut(text, size, size > 0 ? size : 1);
	struct tally pieces = cut(text, size, 7);

	assert(whole.count == pieces.count && whole.bytes == pieces.bytes);
	check_list(text, size);
	check_event(text, size);
	check_rest(text, size);
	check_bound(text, size);
	return 0;
}
