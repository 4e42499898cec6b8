/* What the API server sends: values, lists, watch events and their lines. Each
 * input goes through all of them. */
#include "kube/line_reader.h"
#include "kube/list_page.h"
#include "kube/json_scan.h"
#include "kube/json_value.h"
#include "kube/watch_event.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct tally {
	size_t count;
	size_t bytes;
};

static bool count_item(void *owner, const struct value *item)
{
	struct tally *tally = owner;

	(void)value_text_at(item, "metadata/name", "");
	tally->count++;
	return true;
}

static size_t count_members(const struct value *object, const char *key)
{
	const struct value *member = value_first(object);
	size_t count = 0;

	for (; member != NULL; member = value_next(member)) {
		count += strcmp(value_key(member), key) == 0;
	}
	return count;
}

/* The list that was cut out by hand holds what cJSON sees in the whole. */
static void check_list(const char *text, size_t size)
{
	struct tally tally = { 0 };
	struct list_page page;
	struct value *root = NULL;

	if (list_read(&page, text, size, count_item, &tally, NULL) < 0) {
		return;
	}
	list_page_fini(&page);
	if (value_parse(&root, text, size, NULL) < 0) {
		return;
	}
	if (count_members(root, "items") == 1) {
		assert(value_count(value_get(root, "items")) == tally.count);
	}
	value_free(root);
}

static const struct value *skip_fields(const struct value *member)
{
	while (member != NULL && value_key(member) != NULL &&
		strcmp(value_key(member), "managedFields") == 0) {
		member = value_next(member);
	}
	return member;
}

static void check_same(const struct value *a, const struct value *b)
{
	const char *text = value_text(a);
	const struct value *x = skip_fields(value_first(a));
	const struct value *y = skip_fields(value_first(b));

	assert(value_is_object(a) == value_is_object(b) &&
		value_is_array(a) == value_is_array(b));
	assert((text == NULL) == (value_text(b) == NULL));
	assert(text == NULL || strcmp(text, value_text(b)) == 0);
	while (x != NULL && y != NULL) {
		check_same(x, y);
		x = skip_fields(value_next(x));
		y = skip_fields(value_next(y));
	}
	assert(x == NULL && y == NULL);
}

/* What is read without managedFields is all the rest. */
static void check_rest(const char *text, size_t size)
{
	struct value *whole = NULL;
	struct value *rest = NULL;

	if (value_parse(&whole, text, size, NULL) == 0) {
		int r = scan_parse(&rest, text, size, NULL);

		assert(r == 0);
		(void)r;
		check_same(whole, rest);
		value_free(rest);
		value_free(whole);
	}
}

static void check_event(const char *text, size_t size)
{
	struct watch_event event;

	if (watch_event_parse(&event, text, size, NULL) == 0) {
		assert(value_is_object(event.object));
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
	struct lines lines;

	lines_init(&lines, size);
	for (size_t at = 0; at < size; at += piece) {
		size_t len = piece < size - at ? piece : size - at;
		int result = lines_feed(&lines, text + at, len, count_line,
			&tally, NULL);

		assert(result == 0);
		(void)result;
	}
	lines_fini(&lines);
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
	return 0;
}
