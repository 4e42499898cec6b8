#include "kube/watch_event.h"

#include "kube/json_scan.h"
#include "kube/json_value.h"

#include <errno.h>
#include <string.h>

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
