#include "kube/list_page.h"

#include "kube/json_scan.h"
#include "kube/json_value.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct scan scan;
	const char *text; /* all of it */
	struct list_page page;
	bool has_items;
	list_each each;
	void *owner;
};

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
	int result = scan_parse(&item, slice->text, slice->len, err);

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
	if (!scan_char(s, '[')) {
		/* Go's encoder writes null for a list without items. */
		return scan_value(s, &item) && is_null(&item) ? 0
							      : broken(r, err);
	}
	if (scan_char(s, ']')) {
		return 0;
	}
	do {
		int result;

		if (!scan_value(s, &item)) {
			return broken(r, err);
		}
		result = read_item(r, &item, err);
		if (result < 0) {
			return result;
		}
	} while (scan_char(s, ','));
	return scan_char(s, ']') ? 0 : broken(r, err);
}

static int read_metadata(struct reader *r, struct error *err)
{
	struct value *metadata = NULL;
	struct slice slice;
	int result;

	if (!scan_value(&r->scan, &slice)) {
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

	if (!scan_value(s, &slice) || slice.text[0] != '"' ||
		!scan_char(s, ':')) {
		return broken(r, err);
	}
	if (is_key(&slice, "items")) {
		return read_items(r, err);
	}
	if (is_key(&slice, "metadata")) {
		return read_metadata(r, err);
	}
	return scan_value(s, &slice) ? 0 : broken(r, err);
}

static int read_list(struct reader *r, struct error *err)
{
	struct scan *s = &r->scan;

	if (!scan_char(s, '{')) {
		return broken(r, err);
	}
	do {
		int result = read_member(r, err);

		if (result < 0) {
			return result;
		}
	} while (scan_char(s, ','));
	if (!scan_char(s, '}')) {
		return broken(r, err);
	}
	scan_blank(s);
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
