#include "kube/list.h"

#include "kube/value.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Finds where values begin and end, no more: cJSON checks what is inside. */
struct scan {
	const char *at;
	const char *end;
};

/* A piece of the text: one JSON value. */
struct slice {
	const char *text;
	size_t len;
};

struct reader {
	struct scan scan;
	const char *text; /* all of it */
	struct list_page page;
	bool has_items;
	list_each each;
	void *owner;
};

static void skip_blank(struct scan *s)
{
	while (s->at < s->end &&
		(*s->at == ' ' || *s->at == '\n' || *s->at == '\r' ||
			*s->at == '\t')) {
		s->at++;
	}
}

/* Passes c if it comes next, after blanks. */
static bool skip_char(struct scan *s, char c)
{
	skip_blank(s);
	if (s->at < s->end && *s->at == c) {
		s->at++;
		return true;
	}
	return false;
}

/* Passes a string whose opening quote was passed. */
static bool skip_string(struct scan *s)
{
	while (s->at < s->end) {
		char c = *s->at++;

		if (c == '"') {
			return true;
		}
		if (c == '\\' && s->at < s->end) {
			s->at++;
		}
	}
	return false;
}

/* Passes an object or array whose opening bracket was passed. */
static bool skip_container(struct scan *s)
{
	size_t depth = 1;

	while (s->at < s->end && depth > 0) {
		char c = *s->at++;

		if (c == '"' && !skip_string(s)) {
			return false;
		}
		if (c == '{' || c == '[') {
			depth++;
		}
		if (c == '}' || c == ']') {
			depth--;
		}
	}
	return depth == 0;
}

static bool skip_scalar(struct scan *s)
{
	const char *start = s->at;

	while (s->at < s->end && strchr(",]} \t\r\n", *s->at) == NULL) {
		s->at++;
	}
	return s->at > start;
}

static bool skip_value(struct scan *s, struct slice *out)
{
	bool ok;

	skip_blank(s);
	out->text = s->at;
	if (skip_char(s, '"')) {
		ok = skip_string(s);
	} else if (skip_char(s, '{') || skip_char(s, '[')) {
		ok = skip_container(s);
	} else {
		ok = skip_scalar(s);
	}
	out->len = (size_t)(s->at - out->text);
	return ok;
}

static int broken(const struct reader *r, struct error *err)
{
	return error_set(err, -EBADMSG, "not a list: byte %zu",
		(size_t)(r->scan.at - r->text));
}

static bool is_null(const struct slice *slice)
{
	return slice->len == 4 && memcmp(slice->text, "null", 4) == 0;
}

static bool is_key(const struct slice *key, const char *name)
{
	size_t len = strlen(name);

	return key->len == len + 2 && memcmp(key->text + 1, name, len) == 0;
}

static int read_item(struct reader *r, const struct slice *slice,
	struct error *err)
{
	struct value *item = NULL;
	bool goes_on;
	int result = value_parse(&item, slice->text, slice->len, err);

	if (result < 0) {
		return error_wrap(err, result, "cannot read an item of a list");
	}
	goes_on = r->each(r->owner, item);
	value_free(item);
	return goes_on ? 0 : error_set(err, -ECANCELED, "list was stopped");
}

static int read_items(struct reader *r, struct error *err)
{
	struct scan *s = &r->scan;
	struct slice item;

	r->has_items = true;
	if (!skip_char(s, '[')) {
		/* Go's encoder writes null for a list without items. */
		return skip_value(s, &item) && is_null(&item) ? 0
							      : broken(r, err);
	}
	if (skip_char(s, ']')) {
		return 0;
	}
	do {
		int result;

		if (!skip_value(s, &item)) {
			return broken(r, err);
		}
		result = read_item(r, &item, err);
		if (result < 0) {
			return result;
		}
	} while (skip_char(s, ','));
	return skip_char(s, ']') ? 0 : broken(r, err);
}

static int read_metadata(struct reader *r, struct error *err)
{
	struct value *metadata = NULL;
	struct slice slice;
	int result;

	if (!skip_value(&r->scan, &slice)) {
		return broken(r, err);
	}
	result = value_parse(&metadata, slice.text, slice.len, err);
	if (result < 0) {
		return error_wrap(err, result, "cannot read a list's metadata");
	}
	list_page_fini(&r->page);
	r->page.resource_version =
		xstrdup(value_text_at(metadata, "resourceVersion", ""));
	r->page.next = xstrdup(value_text_at(metadata, "continue", ""));
	value_free(metadata);
	return 0;
}

static int read_member(struct reader *r, struct error *err)
{
	struct scan *s = &r->scan;
	struct slice slice;

	if (!skip_value(s, &slice) || slice.text[0] != '"' ||
		!skip_char(s, ':')) {
		return broken(r, err);
	}
	if (is_key(&slice, "items")) {
		return read_items(r, err);
	}
	if (is_key(&slice, "metadata")) {
		return read_metadata(r, err);
	}
	return skip_value(s, &slice) ? 0 : broken(r, err);
}

static int read_list(struct reader *r, struct error *err)
{
	struct scan *s = &r->scan;

	if (!skip_char(s, '{')) {
		return broken(r, err);
	}
	do {
		int result = read_member(r, err);

		if (result < 0) {
			return result;
		}
	} while (skip_char(s, ','));
	if (!skip_char(s, '}')) {
		return broken(r, err);
	}
	skip_blank(s);
	if (s->at < s->end) {
		return broken(r, err);
	}
	return r->has_items && r->page.next != NULL
		? 0
		: error_set(err, -EBADMSG,
			  "not a list: it has no items or no metadata");
}

int list_read(struct list_page *out, const char *text, size_t len,
	list_each each, void *owner, struct error *err)
{
	struct reader r = {
		.scan = { .at = text, .end = text + len },
		.text = text,
		.each = each,
		.owner = owner,
	};
	int result = read_list(&r, err);

	if (result < 0) {
		list_page_fini(&r.page);
		return result;
	}
	*out = r.page;
	return 0;
}

void list_page_fini(struct list_page *page)
{
	free(page->resource_version);
	free(page->next);
	*page = (struct list_page){ 0 };
}
