#include "kube/list_reader.h"

#include "kube/json_scan.h"
#include "kube/json_value.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are added to an incomplete item at once. */
enum { PIECE = 64 << 10 };

/* A step reads one token. */
enum step {
	STEP_DONE = 1,
	STEP_NEEDS_MORE = 0, /* the token does not end in these bytes */
	STEP_STOPPED = -ECANCELED,
};

void list_reader_init(struct list_reader *reader, size_t max)
{
	*reader = (struct list_reader){
		.rest = BUFFER_MAX(max + PIECE),
		.max = max,
	};
}

void list_reader_fini(struct list_reader *reader)
{
	buffer_fini(&reader->rest);
	free(take_ptr(reader->resource_version));
}

static int broken(const struct list_reader *r, const struct json_scan *s,
	struct error *err)
{
	(void)error_set(err, -EBADMSG, "not a list: byte %zu",
		r->read + (size_t)(s->at - r->rest.data));
	return -EBADMSG;
}

static bool is_key(const struct json_slice *key, const char *name)
{
	size_t len = strlen(name);

	return key->len == len + 2 && memcmp(key->text + 1, name, len) == 0;
}

/* Reads a value. Only the byte after a number ends it. */
static int read_value(const struct list_reader *r, struct json_scan *s,
	struct json_slice *out, struct error *err)
{
	json_scan_blank(s);
	if (s->at < s->end && strchr(",:]}", *s->at) != NULL) {
		return broken(r, s, err);
	}
	if (!json_scan_value(s, out) ||
		(s->at == s->end && strchr("\"{[", out->text[0]) == NULL)) {
		return STEP_NEEDS_MORE;
	}
	return STEP_DONE;
}

/* Reads a bracket or comma. */
static int read_mark(struct list_reader *r, struct json_scan *s,
	struct error *err)
{
	static const struct {
		enum list_state from;
		char mark;
		enum list_state to;
	} marks[] = {
		{ LIST_BEGIN, '{', LIST_MEMBER },
		{ LIST_AFTER_MEMBER, ',', LIST_MEMBER },
		{ LIST_AFTER_MEMBER, '}', LIST_END },
		{ LIST_AFTER_ITEM, ',', LIST_ITEM },
		{ LIST_AFTER_ITEM, ']', LIST_AFTER_MEMBER },
	};

	json_scan_blank(s);
	for (size_t i = 0; i < count_of(marks); i++) {
		if (marks[i].from == r->state &&
			json_scan_char(s, marks[i].mark)) {
			r->state = marks[i].to;
			return STEP_DONE;
		}
	}
	return s->at == s->end ? STEP_NEEDS_MORE : broken(r, s, err);
}

static int read_metadata(struct list_reader *r, const struct json_slice *slice,
	struct error *err)
{
	struct json_value *metadata = NULL;
	int result = json_value_parse(&metadata, slice->text, slice->len, err);

	if (result < 0) {
		return error_wrap(err, result, "cannot read a list's metadata");
	}
	xreplace(&r->resource_version,
		json_value_text_at(metadata, "resourceVersion", ""));
	if (*json_value_text_at(metadata, "continue", "") != '\0') {
		result = error_set(err, -EBADMSG,
			"the server sent a part of the list only");
	}
	json_value_free(metadata);
	return result < 0 ? result : STEP_DONE;
}

/* The value of the member "items". Go's encoder writes null if there are
 * none. */
static int read_items(struct list_reader *r, struct json_scan *s,
	struct error *err)
{
	struct json_scan begin = *s;
	struct json_slice value;
	int result;

	if (json_scan_char(s, '[')) {
		r->has_items = true;
		r->state = LIST_FIRST_ITEM;
		return STEP_DONE;
	}
	result = read_value(r, s, &value, err);
	if (result != STEP_DONE) {
		return result;
	}
	if (value.len != 4 || memcmp(value.text, "null", 4) != 0) {
		return broken(r, &begin, err);
	}
	r->has_items = true;
	r->state = LIST_AFTER_MEMBER;
	return STEP_DONE;
}

static int read_member(struct list_reader *r, struct json_scan *s,
	struct error *err)
{
	struct json_slice key;
	struct json_slice value;
	int result = read_value(r, s, &key, err);

	if (result != STEP_DONE) {
		return result;
	}
	if (key.text[0] != '"') {
		return broken(r, s, err);
	}
	if (!json_scan_char(s, ':')) {
		return s->at == s->end ? STEP_NEEDS_MORE : broken(r, s, err);
	}
	json_scan_blank(s);
	if (s->at == s->end) {
		return STEP_NEEDS_MORE;
	}
	if (is_key(&key, "items")) {
		return read_items(r, s, err);
	}
	result = read_value(r, s, &value, err);
	if (result == STEP_DONE && is_key(&key, "metadata")) {
		result = read_metadata(r, &value, err);
	}
	if (result == STEP_DONE) {
		r->state = LIST_AFTER_MEMBER;
	}
	return result;
}

static int read_item(struct list_reader *r, struct json_scan *s,
	list_reader_each each, void *owner, struct error *err)
{
	struct json_value *item = NULL;
	struct json_slice slice;
	bool continues;
	int result = read_value(r, s, &slice, err);

	if (result != STEP_DONE) {
		return result;
	}
	result = json_scan_parse_object(&item, slice.text, slice.len, err);
	if (result < 0) {
		return error_wrap(err, result, "cannot read an item of a list");
	}
	r->state = LIST_AFTER_ITEM;
	continues = each(owner, item);
	json_value_free(item);
	return continues ? STEP_DONE : STEP_STOPPED;
}

static int read_token(struct list_reader *r, struct json_scan *s,
	list_reader_each each, void *owner, struct error *err)
{
	switch (r->state) {
	case LIST_MEMBER:
		return read_member(r, s, err);
	case LIST_FIRST_ITEM:
		if (json_scan_char(s, ']')) {
			r->state = LIST_AFTER_MEMBER;
			return STEP_DONE;
		}
		/* fallthrough */
	case LIST_ITEM:
		return read_item(r, s, each, owner, err);
	case LIST_BEGIN:
	case LIST_AFTER_MEMBER:
	case LIST_AFTER_ITEM:
	case LIST_END:
		break;
	}
	return read_mark(r, s, err);
}

/* Reads all complete tokens. */
static int read_rest(struct list_reader *r, list_reader_each each, void *owner,
	struct error *err)
{
	struct json_scan s = {
		.at = r->rest.data,
		.end = r->rest.data + r->rest.len,
	};
	const char *done = s.at;
	size_t len;
	int result;

	while ((result = read_token(r, &s, each, owner, err)) == STEP_DONE) {
		done = s.at;
	}
	if (result < 0) {
		return result;
	}
	len = (size_t)(done - r->rest.data);
	buffer_consume(&r->rest, len);
	r->read += len;
	return r->rest.len <= r->max
		? 0
		: error_set(err, -EMSGSIZE,
			  "an item of the list is larger than %zu bytes",
			  r->max);
}

int list_reader_feed(struct list_reader *reader, const char *bytes, size_t len,
	list_reader_each each, void *owner, struct error *err)
{
	while (len > 0) {
		size_t piece = len < PIECE ? len : PIECE;
		int result;

		buffer_append(&reader->rest, bytes, piece);
		result = read_rest(reader, each, owner, err);
		if (result < 0) {
			return result == STEP_STOPPED ? 0 : result;
		}
		bytes += piece;
		len -= piece;
	}
	return 0;
}

int list_reader_end(const struct list_reader *reader, struct error *err)
{
	if (reader->state != LIST_END) {
		return error_set(err, -EBADMSG, "the list is not complete");
	}
	return reader->has_items && reader->resource_version != NULL
		? 0
		: error_set(err, -EBADMSG,
			  "not a list: it has no items or no metadata");
}
