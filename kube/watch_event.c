#include "kube/watch_event.h"

#include "kube/json_scan.h"
#include "kube/json_value.h"

#include <errno.h>
#include <string.h>

/* ---- lines ---- */

void line_reader_init(struct line_reader *reader, size_t max)
{
	*reader =
		(struct line_reader){ .partial = BUFFER_MAX(max), .max = max };
}

void line_reader_fini(struct line_reader *reader)
{
	buffer_fini(&reader->partial);
}

static int too_long(const struct line_reader *reader, struct error *err)
{
	return error_set(err, -EMSGSIZE, "a line is longer than %zu bytes",
		reader->max);
}

/* Delivers the line that ends after len more bytes. False: stopped, and the
 * reader may be freed. */
static bool deliver(struct line_reader *reader, const char *bytes, size_t len,
	line_reader_each each, void *owner)
{
	struct buffer whole = reader->partial;
	bool continues;

	if (whole.len == 0) {
		return len == 0 || each(owner, bytes, len);
	}
	/* Take the memory out first, because each may free the reader. */
	reader->partial = BUFFER_MAX(reader->max);
	buffer_append(&whole, bytes, len);
	continues = each(owner, whole.data, whole.len);
	buffer_fini(&whole);
	return continues;
}

int line_reader_feed(struct line_reader *reader, const char *bytes, size_t len,
	line_reader_each each, void *owner, struct error *err)
{
	while (len > 0) {
		const char *newline = memchr(bytes, '\n', len);
		size_t more = newline != NULL ? (size_t)(newline - bytes) : len;

		if (more > reader->max - reader->partial.len) {
			return too_long(reader, err);
		}
		if (newline == NULL) {
			buffer_append(&reader->partial, bytes, more);
			return 0;
		}
		if (!deliver(reader, bytes, more, each, owner)) {
			return 0;
		}
		bytes += more + 1;
		len -= more + 1;
	}
	return 0;
}

/* ---- events ---- */

/* HTTP "Gone": the server no longer has this resourceVersion. */
enum { STATUS_GONE = 410 };

static void read_status(struct watch_event *event)
{
	double code = 0;

	(void)json_value_number(&code, json_value_get(event->object, "code"));
	event->type = code == STATUS_GONE ? WATCH_EXPIRED : WATCH_ERROR;
	event->message = json_value_text_at(event->object, "message",
		"the API server gave no reason");
}

static int read_type(struct watch_event *event, const char *type,
	struct error *err)
{
	if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0) {
		event->type = WATCH_CHANGED;
	} else if (strcmp(type, "DELETED") == 0) {
		event->type = WATCH_DELETED;
	} else if (strcmp(type, "BOOKMARK") == 0) {
		event->type = WATCH_BOOKMARK;
	} else if (strcmp(type, "ERROR") == 0) {
		read_status(event);
		return 0;
	} else {
		return error_set(err, -EBADMSG, "watch event of unknown type");
	}
	event->resource_version = json_value_text_at(event->object,
		"metadata/resourceVersion", "");
	if (event->resource_version[0] == '\0') {
		return error_set(err, -EBADMSG,
			"watch event without resourceVersion");
	}
	return 0;
}

int watch_event_parse(struct watch_event *out, const char *line, size_t len,
	struct error *err)
{
	struct watch_event event = { .resource_version = "", .message = "" };
	int result = json_scan_parse_object(&event.root, line, len, err);

	if (result < 0) {
		return error_wrap(err, result, "cannot read a watch event");
	}
	event.object = json_value_get(event.root, "object");
	if (!json_value_is_object(event.object)) {
		result = error_set(err, -EBADMSG,
			"watch event without an object");
	} else {
		result = read_type(&event,
			json_value_text_at(event.root, "type", ""), err);
	}
	if (result < 0) {
		watch_event_fini(&event);
		return result;
	}
	*out = event;
	return 0;
}

void watch_event_fini(struct watch_event *event)
{
	json_value_free(event->root);
	*event = (struct watch_event){ 0 };
}
