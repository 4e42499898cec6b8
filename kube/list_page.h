/* One page of a Kubernetes list, object by object.
 *
 * A tree is five times as large as its text, so the page is cut into its items
 * first and only one of them is a tree at a time. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

struct value;

struct list_page {
	char *resource_version; /* "" if there was none */
	char *next;		/* the continue token, "" on the last page */
};

/* Gets each item, borrowed for the call. False stops: list_read() then fails
 * with -ECANCELED. */
typedef bool (*list_each)(void *owner, const struct value *item);

/* The caller calls list_page_fini() on success. Items may have been handed
 * over before a failure shows.
 * -EBADMSG: not a list; -ECANCELED: each said so. */
must_check int list_read(struct list_page *out, const char *text, size_t len,
	list_each each, void *owner, struct error *err);

void list_page_fini(struct list_page *page); /* zeroed is fine */
