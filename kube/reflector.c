#include "kube/reflector.h"

#include "kube/backoff.h"
#include "kube/client.h"
#include "kube/object_set.h"
#include "kube/line_reader.h"
#include "kube/list_page.h"
#include "kube/url_query.h"
#include "kube/json_value.h"
#include "kube/watch_event.h"
#include "lib/clock.h"
#include "lib/error.h"
#include "lib/loop.h"
#include "lib/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum {
	PATH_MAX_BYTES = 64 << 10, /* continue tokens are a few hundred */
	PAGE_MAX = 64 << 20,	   /* 500 objects of up to 128 KB */
	PAGE_OBJECTS = 500,
	PAGE_SHRINKS = 4,	  /* where they are larger: 125, 31, 7, 1 */
	LINE_MAX_BYTES = 4 << 20, /* etcd takes objects of up to 1.5 MiB */
	CHUNK_MAX = 32 << 20,
	LIST_TIMEOUT_MS = 60000,
	RETRY_AFTER_MAX_MS = 60000,
};

/* The server ends a watch after a time we choose. At random, so that watches
 * do not all end together. It is given a little longer before we hang up. */
enum { WATCH_LEAST_S = 300, WATCH_SPREAD_S = 300, WATCH_GRACE_S = 15 };

/* A watch that was open for this long was a good one. */
enum { GOOD_WATCH_US = 1000000 };

enum {
	STATUS_OK = 200,
	STATUS_BAD_REQUEST = 400,
	STATUS_NOT_FOUND = 404,
	STATUS_GONE = 410,
	STATUS_BAD_GATEWAY = 502,
	STATUS_UNAVAILABLE = 503,
	STATUS_GATEWAY_TIMEOUT = 504,
};

struct reflector {
	struct kube_client *client;
	struct reflector_handler handler;
	char *path;
	char *field_selector;
	char *label_selector;
	struct timer *timer;
	struct kube_request *request;
	struct known known;
	struct lines lines;
	char *version;	    /* where to watch from; NULL: list first */
	char *next;	    /* continue token of a list under way, or NULL */
	uint64_t opened_us; /* when the watch was opened; 0: it is not */
	uint64_t contact_us;
	unsigned failures; /* in a row */
	unsigned page;	   /* objects that are asked for at once */
	struct error trouble;
	bool is_synced;
	bool is_busy; /* a handler may be running */
	bool is_closed;
};

static void start(void *owner);

/* In [0, 1). */
static double random_share(void)
{
	uint32_t bits = 0;
	int result = uv_random(NULL, NULL, &bits, sizeof(bits), 0, NULL);

	assert(result == 0);
	return (double)bits / 4294967296.0;
}

static void set_text(char **at, const char *text)
{
	free(*at);
	*at = text != NULL ? xstrdup(text) : NULL;
}

static void reflector_free(struct reflector *r)
{
	known_fini(&r->known);
	lines_fini(&r->lines);
	free(r->path);
	free(r->field_selector);
	free(r->label_selector);
	free(r->version);
	free(r->next);
	free(r);
}

/* Ends a stretch in which handlers run. False: r was closed and is gone. */
static bool leave(struct reflector *r)
{
	r->is_busy = false;
	if (r->is_closed) {
		reflector_free(r);
		return false;
	}
	return true;
}

/* ---- failures ---- */

static bool had_good_watch(const struct reflector *r)
{
	return r->opened_us != 0 &&
		clock_monotonic_us() - r->opened_us >= GOOD_WATCH_US;
}

/* Tries again: at once after a good watch, else later and later. */
static void try_later(struct reflector *r, uint64_t least_ms)
{
	uint64_t wait_ms = 0;

	if (had_good_watch(r)) {
		r->failures = 0;
	} else {
		wait_ms = backoff_ms(++r->failures, random_share());
	}
	if (least_ms > RETRY_AFTER_MAX_MS) {
		least_ms = RETRY_AFTER_MAX_MS;
	}
	r->opened_us = 0;
	lines_fini(&r->lines);
	lines_init(&r->lines, LINE_MAX_BYTES);
	timer_start(r->timer, wait_ms > least_ms ? wait_ms : least_ms, 0);
}

static void list_again(struct reflector *r)
{
	set_text(&r->version, NULL);
	set_text(&r->next, NULL);
}

static void give_up_watch(struct reflector *r)
{
	kube_request_cancel(r->request);
	r->request = NULL;
	try_later(r, 0);
}

/* 410 says that we know something too old, 400 and 404 that it makes no sense
 * any more. Whatever else it was, the same request may succeed later. */
static void refused(struct reflector *r, const char *what,
	const struct kube_answer *answer)
{
	if (answer->status == STATUS_GONE ||
		answer->status == STATUS_BAD_REQUEST ||
		answer->status == STATUS_NOT_FOUND) {
		list_again(r);
	}
	(void)error_set(&r->trouble, answer->status, "cannot %s %s: %s", what,
		r->path, answer->error);
	try_later(r, answer->retry_after_ms);
}

/* ---- objects ---- */

/* NULL if it has no name or uid; else the caller frees it. */
static char *read_id(struct reflector_id *id, const struct value *object)
{
	const struct value *metadata = value_get(object, "metadata");

	id->namespace_name = value_text_at(metadata, "namespace", "");
	id->name = value_text_at(metadata, "name", "");
	id->uid = value_text_at(metadata, "uid", "");
	if (id->name[0] == '\0' || id->uid[0] == '\0') {
		return NULL;
	}
	return xasprintf("%s/%s", id->namespace_name, id->name);
}

static bool report_gone(void *owner, const char *key, const char *uid)
{
	struct reflector *r = owner;
	const char *slash = strchr(key, '/');
	scoped_free char *ns = xstrndup(key, (size_t)(slash - key));
	struct reflector_id id = {
		.namespace_name = ns,
		.name = slash + 1,
		.uid = uid,
	};

	r->handler.on_gone(r->handler.owner, &id);
	return !r->is_closed;
}

static bool report_object(struct reflector *r, const struct value *object)
{
	struct reflector_id id;
	scoped_free char *key = read_id(&id, object);
	scoped_free char *other = NULL;

	if (key == NULL) {
		return true;
	}
	other = known_note(&r->known, key, id.uid);
	if (other != NULL && !report_gone(r, key, other)) {
		return false;
	}
	r->handler.on_object(r->handler.owner, &id, object);
	return !r->is_closed;
}

/* ---- watch ---- */

static bool on_event(struct reflector *r, const struct watch_event *event)
{
	struct reflector_id id;
	scoped_free char *key = NULL;

	switch (event->kind) {
	case WATCH_OBJECT:
		return report_object(r, event->object);
	case WATCH_GONE:
		key = read_id(&id, event->object);
		return key == NULL || !known_drop(&r->known, key) ||
			report_gone(r, key, id.uid);
	case WATCH_BOOKMARK:
		return true;
	case WATCH_EXPIRED:
		list_again(r);
		break;
	case WATCH_ERROR:
		break;
	}
	(void)error_set(&r->trouble, 0, "watch of %s ended: %s", r->path,
		event->message);
	give_up_watch(r);
	return false;
}

static bool on_line(void *owner, const char *line, size_t len)
{
	struct reflector *r = owner;
	struct watch_event event;
	bool goes_on;

	if (watch_event_parse(&event, line, len, &r->trouble) < 0) {
		(void)error_wrap(&r->trouble, 0, "watch of %s", r->path);
		list_again(r);
		give_up_watch(r);
		return false;
	}
	goes_on = on_event(r, &event);
	if (goes_on) {
		r->failures = 0;
		set_text(&r->version, event.resource_version);
	}
	watch_event_fini(&event);
	return goes_on;
}

static void on_watch_chunk(void *owner, const char *bytes, size_t len)
{
	struct reflector *r = owner;

	r->contact_us = clock_monotonic_us();
	if (r->opened_us == 0) {
		r->opened_us = r->contact_us;
		r->trouble = (struct error){ 0 };
	}
	r->is_busy = true;
	if (lines_feed(&r->lines, bytes, len, on_line, r, &r->trouble) < 0) {
		(void)error_wrap(&r->trouble, 0, "watch of %s", r->path);
		list_again(r);
		give_up_watch(r);
	}
	(void)leave(r);
}

/* Nobody was there, and somebody who comes back may be a server whose store
 * was set back (etcd restored from a backup): it would say nothing until its
 * versions are beyond ours, nor that anything is amiss. */
static bool was_away(const struct reflector *r,
	const struct kube_answer *answer)
{
	return r->opened_us == 0 &&
		(answer->status == 0 || answer->status == STATUS_BAD_GATEWAY ||
			answer->status == STATUS_UNAVAILABLE ||
			answer->status == STATUS_GATEWAY_TIMEOUT);
}

static void on_watch_done(void *owner, const struct kube_answer *answer)
{
	struct reflector *r = owner;

	r->request = NULL;
	if (answer->status == STATUS_OK) {
		/* That is how every watch ends sooner or later. */
		if (!had_good_watch(r)) {
			(void)error_set(&r->trouble, 0,
				"watch of %s ended as soon as it began",
				r->path);
		}
		try_later(r, 0);
		return;
	}
	if (was_away(r, answer)) {
		list_again(r);
	}
	refused(r, "watch", answer);
}

/* Sends a GET of path, which has all parameters but the selectors. */
static void get(struct reflector *r, struct buffer *path,
	struct kube_call *call)
{
	query_add(path, "fieldSelector", r->field_selector);
	query_add(path, "labelSelector", r->label_selector);
	if (path->overflowed) {
		(void)error_set(&r->trouble, 0,
			"cannot list %s: its continue token is too long",
			r->path);
		list_again(r);
		try_later(r, 0);
		return;
	}
	call->method = "GET";
	call->path = path->data;
	call->owner = r;
	r->request = kube_request_send(r->client, call);
}

static void watch(struct reflector *r)
{
	scoped_buffer struct buffer path = BUFFER_MAX(PATH_MAX_BYTES);
	unsigned seconds =
		WATCH_LEAST_S + (unsigned)(WATCH_SPREAD_S * random_share());
	scoped_free char *timeout = xasprintf("%u", seconds);

	buffer_text(&path, r->path);
	query_add(&path, "watch", "1");
	query_add(&path, "allowWatchBookmarks", "true");
	query_add(&path, "resourceVersion", r->version);
	query_add(&path, "timeoutSeconds", timeout);
	get(r, &path,
		&(struct kube_call){
			.timeout_ms =
				1000 * (uint64_t)(seconds + WATCH_GRACE_S),
			.max = CHUNK_MAX,
			.on_chunk = on_watch_chunk,
			.on_done = on_watch_done,
		});
}

/* ---- list ---- */

static bool on_item(void *owner, const struct value *item)
{
	return report_object(owner, item);
}

static void end_list(struct reflector *r, const char *version)
{
	bool was_synced = r->is_synced;

	known_sweep(&r->known, report_gone, r);
	if (r->is_closed) {
		return;
	}
	set_text(&r->version, version);
	set_text(&r->next, NULL);
	r->page = PAGE_OBJECTS;
	r->is_synced = true;
	if (!was_synced) {
		r->handler.on_synced(r->handler.owner);
	}
}

static void on_page(struct reflector *r, const struct kube_answer *answer)
{
	struct list_page page;
	int result;

	r->is_busy = true;
	result = list_read(&page, answer->body, answer->len, on_item, r,
		&r->trouble);
	if (result == 0) {
		if (page.next[0] != '\0') {
			set_text(&r->next, page.next);
		} else {
			end_list(r, page.resource_version);
		}
		list_page_fini(&page);
	}
	if (!leave(r)) {
		return;
	}
	if (result < 0) {
		(void)error_wrap(&r->trouble, result, "list of %s", r->path);
		list_again(r);
		try_later(r, 0);
		return;
	}
	start(r);
}

static void on_list_done(void *owner, const struct kube_answer *answer)
{
	struct reflector *r = owner;

	r->request = NULL;
	if (answer->status == STATUS_OK) {
		r->contact_us = clock_monotonic_us();
		on_page(r, answer);
		return;
	}
	if (answer->is_too_large && r->page > 1) {
		r->page = r->page > PAGE_SHRINKS ? r->page / PAGE_SHRINKS : 1;
		start(r);
		return;
	}
	refused(r, "list", answer);
}

static void list(struct reflector *r)
{
	scoped_buffer struct buffer path = BUFFER_MAX(PATH_MAX_BYTES);
	scoped_free char *limit = xasprintf("%u", r->page);

	if (r->next == NULL) {
		known_begin(&r->known);
	}
	buffer_text(&path, r->path);
	query_add(&path, "limit", limit);
	query_add(&path, "continue", r->next);
	get(r, &path,
		&(struct kube_call){
			.timeout_ms = LIST_TIMEOUT_MS,
			.max = PAGE_MAX,
			.on_done = on_list_done,
		});
}

static void start(void *owner)
{
	struct reflector *r = owner;

	if (r->version != NULL) {
		watch(r);
	} else {
		list(r);
	}
}

/* ---- lifecycle ---- */

struct reflector *reflector_new(struct kube_client *client,
	const struct reflector_options *options,
	const struct reflector_handler *handler)
{
	struct reflector *r = xcalloc(1, sizeof(*r));

	r->client = client;
	r->handler = *handler;
	set_text(&r->path, options->path);
	set_text(&r->field_selector, options->field_selector);
	set_text(&r->label_selector, options->label_selector);
	r->timer = timer_new(kube_client_loop(client), start, r);
	lines_init(&r->lines, LINE_MAX_BYTES);
	r->page = PAGE_OBJECTS;
	start(r);
	return r;
}

struct reflector_state reflector_state(const struct reflector *r)
{
	return (struct reflector_state){
		.is_synced = r->is_synced,
		.is_watching = r->opened_us != 0,
		.contact_us = r->contact_us,
		.trouble = r->trouble.text,
		.is_refused = r->trouble.code > 0,
	};
}

void reflector_close(struct reflector *r)
{
	if (r == NULL) {
		return;
	}
	kube_request_cancel(r->request);
	r->request = NULL;
	timer_close(r->timer);
	r->is_closed = true;
	if (!r->is_busy) {
		reflector_free(r);
	}
}
