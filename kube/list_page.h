/* Reads one page of a Kubernetes list, item by item.
 *
 * A parsed tree is five times as large as its text, so the page is split into
 * items first, and only one item at a time is a tree. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

struct json_value;

struct list_page {
	char *resource_version; /* "" if missing */
	char *next;		/* the continue token; "" on the last page */
};

/* Receives each item, borrowed for the call. False stops: list_page_read() then
 * fails with -ECANCELED. */
typedef bool (*list_page_each)(void *owner, const struct json_value *item);

/* The caller calls list_page_fini() on success. A failure may come after some
 * items.
 * -EBADMSG: not a list; -ECANCELED: each returned false. */
must_check int list_page_read(struct list_page *out, const char *text,
	size_t len, list_page_each each, void *owner, struct error *err);

void list_page_fini(struct list_page *page); /* zeroed is fine */
