#include "kube/list_page.h"

#include "kube/json_scan.h"
#include "kube/json_value.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct json_scan scan;
	const char *text; /* the whole page */
	struct list_page page;
	bool has_items;
	list_page_each each;
	void *owner;
};

static int broken(const struct reader *r, struct error *err)
{
	return error_set(err, -EBADMSG, "not a list: byte %zu",
		(size_t)(r->scan.at - r->text));
}

static bool is_null(const struct json_slice *slice)
{
	return slice->len == 4 && memcmp(slice->text, "null", 4) == 0;
}

static bool is_key(const struct json_slice *key, const char *name)
{
	size_t len = strlen(name);

	return key->len == len + 2 && memcmp(key->text + 1, name, len) == 0;
}

static int read_item(struct reader *r, const struct json_slice *slice,
	struct error *err)
{
	struct json_value *item = NULL;
	bool continues;
	int result =
		json_scan_parse_object(&item, slice->text, slice->len, err);

	if (result < 0) {
		return error_wrap(err, result, "cannot read an item of a list");
	}
	continues = r->each(r->owner, item);
	json_value_free(item);
	return continues ? 0 : error_set(err, -ECANCELED, "list was stopped");
}

static int read_items(struct reader *r, struct error *err)
{
	struct json_scan *s = &r->scan;
	struct json_slice item;

	r->has_items = true;
	if (!json_scan_char(s, '[')) {
		/* Go's encoder writes null for an empty list. */
		return json_scan_value(s, &item) && is_null(&item)
			? 0
			: broken(r, err);
	}
	if (json_scan_char(s, ']')) {
		return 0;
	}
	do {
		int result;

		if (!json_scan_value(s, &item)) {
			return broken(r, err);
		}
		result = read_item(r, &item, err);
		if (result < 0) {
			return result;
		}
	} while (json_scan_char(s, ','));
	return json_scan_char(s, ']') ? 0 : broken(r, err);
}

static int read_metadata(struct reader *r, struct error *err)
{
	struct json_value *metadata = NULL;
	struct json_slice slice;
	int result;

	if (!json_scan_value(&r->scan, &slice)) {
		return broken(r, err);
	}
	result = json_value_parse(&metadata, slice.text, slice.len, err);
	if (result < 0) {
		return error_wrap(err, result, "cannot read a list's metadata");
	}
	list_page_fini(&r->page);
	r->page.resource_version =
		xstrdup(json_value_text_at(metadata, "resourceVersion", ""));
	r->page.next = xstrdup(json_value_text_at(metadata, "continue", ""));
	json_value_free(metadata);
	return 0;
}

static int read_member(struct reader *r, struct error *err)
{
	struct json_scan *s = &r->scan;
	struct json_slice slice;

	if (!json_scan_value(s, &slice) || slice.text[0] != '"' ||
		!json_scan_char(s, ':')) {
		return broken(r, err);
	}
	if (is_key(&slice, "items")) {
		return read_items(r, err);
	}
	if (is_key(&slice, "metadata")) {
		return read_metadata(r, err);
	}
	return json_scan_value(s, &slice) ? 0 : broken(r, err);
}

static int read_list(struct reader *r, struct error *err)
{
	struct json_scan *s = &r->scan;

	if (!json_scan_char(s, '{')) {
		return broken(r, err);
	}
	do {
		int result = read_member(r, err);

		if (result < 0) {
			return result;
		}
	} while (json_scan_char(s, ','));
	if (!json_scan_char(s, '}')) {
		return broken(r, err);
	}
	json_scan_blank(s);
	if (s->at < s->end) {
		return broken(r, err);
	}
	return r->has_items && r->page.next != NULL
		? 0
		: error_set(err, -EBADMSG,
			  "not a list: it has no items or no metadata");
}

int list_page_read(struct list_page *out, const char *text, size_t len,
	list_page_each each, void *owner, struct error *err)
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
