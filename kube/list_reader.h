/* Reads a Kubernetes list while it arrives, item by item.
 *
 * A list of all pods has hundreds of megabytes, and a parsed tree is five times
 * as large as its text. The reader holds one item at a time. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

struct json_value;

/* The part of the text that comes next. */
enum list_state {
	LIST_BEGIN,
	LIST_MEMBER,	   /* of the list */
	LIST_AFTER_MEMBER, /* a comma or the end */
	LIST_FIRST_ITEM,   /* or the end of the items */
	LIST_ITEM,
	LIST_AFTER_ITEM, /* a comma or the end of the items */
	LIST_END,	 /* nothing but blanks */
};

struct list_reader {
	enum list_state state;
	struct buffer rest; /* bytes that are not read yet */
	size_t max;
	size_t read;		/* bytes before rest */
	char *resource_version; /* of the list; NULL: not read yet */
	bool has_items;
};

/* Receives each item, borrowed for the call. False stops: list_reader_feed()
 * then returns 0 and does not use the reader any more. */
typedef bool (*list_reader_each)(void *owner, const struct json_value *item);

/* max: bytes of an item, and of any other member of the list. */
void list_reader_init(struct list_reader *reader, size_t max);
void list_reader_fini(struct list_reader *reader); /* zeroed is fine */

/* Calls each for every item that is complete.
 * -EBADMSG: not a list; -EMSGSIZE: an item or another member exceeds the
 * maximum. The reader is unusable after both. */
must_check int list_reader_feed(struct list_reader *reader, const char *bytes,
	size_t len, list_reader_each each, void *owner, struct error *err);

/* Call this after the last bytes. resource_version is not NULL then.
 * -EBADMSG: the list is not complete. */
must_check int list_reader_end(const struct list_reader *reader,
	struct error *err);
