#include "kube/reflector.h"

#include "kube/backoff.h"
#include "kube/client.h"
#include "kube/object_reports.h"
#include "kube/line_reader.h"
#include "kube/list_page.h"
#include "kube/url_query.h"
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
	PATH_MAX_BYTES = 64 << 10, /* continue tokens: some hundreds */
	PAGE_MAX = 64 << 20,	   /* 500 objects of up to 128 KB */
	PAGE_OBJECTS = 500,
	PAGE_SHRINKS = 4,	  /* for larger objects: 125, 31, 7, 1 */
	LINE_MAX_BYTES = 4 << 20, /* etcd accepts objects of up to 1.5 MiB */
	CHUNK_MAX = 32 << 20,
	LIST_TIMEOUT_MS = 60000,
	/* Without a byte of the initial events, which begin with a pause while
	 * a server fills its cache. */
	STALL_MS = 30000,
	RETRY_AFTER_MAX_MS = 60000,
};

/* The server ends a watch after timeoutSeconds, which is random so that watches
 * do not all end together. The client waits a little longer than that. */
enum { WATCH_LEAST_S = 300, WATCH_SPREAD_S = 300, WATCH_GRACE_S = 15 };

/* A watch that lasted this long counts as a success. */
enum { GOOD_WATCH_US = 1000000 };

enum {
	STATUS_OK = 200,
	STATUS_BAD_REQUEST = 400,
	STATUS_NOT_FOUND = 404,
	STATUS_GONE = 410,
	STATUS_INVALID = 422,
	STATUS_BAD_GATEWAY = 502,
	STATUS_UNAVAILABLE = 503,
	STATUS_GATEWAY_TIMEOUT = 504,
};

struct reflector {
	struct kube_client *client;
	struct object_reports reports;
	char *path;
	char *field_selector;
	char *label_selector;
	struct timer *timer;
	struct kube_request *request;
	struct line_reader line_reader;
	char *version; /* resourceVersion to watch from; NULL: list first */
	char *next;    /* continue token of a list in progress, or NULL */
	bool has_no_stream; /* the server does not send initial events */
	bool is_initial;    /* the open watch still sends initial events */
	uint64_t opened_us; /* start of the open watch; 0: none is open */
	uint64_t contact_us;
	unsigned failures; /* consecutive */
	unsigned page;	   /* objects per page */
	struct error last_error;
	bool is_busy; /* a handler may be running */
};

static void start(void *owner);
static void list_instead(struct reflector *r);

/* In [0, 1). */
static double random_share(void)
{
	uint32_t bits = 0;
	int result = uv_random(NULL, NULL, &bits, sizeof(bits), 0, NULL);

	assert(result == 0);
	return (double)bits / 4294967296.0;
}

static void reflector_free(struct reflector *r)
{
	object_reports_fini(&r->reports);
	line_reader_fini(&r->line_reader);
	free(r->path);
	free(r->field_selector);
	free(r->label_selector);
	free(r->version);
	free(r->next);
	free(r);
}

/* Call after handlers ran. False: r was closed and has been freed. */
static bool end_handlers(struct reflector *r)
{
	r->is_busy = false;
	if (r->reports.is_closed) {
		reflector_free(r);
		return false;
	}
	return true;
}

/* ---- failures ---- */

static bool had_good_watch(const struct reflector *r)
{
	return r->opened_us != 0 && !r->is_initial &&
		clock_monotonic_us() - r->opened_us >= GOOD_WATCH_US;
}

static void end_watch(struct reflector *r)
{
	r->opened_us = 0;
	r->is_initial = false;
	line_reader_fini(&r->line_reader);
	line_reader_init(&r->line_reader, LINE_MAX_BYTES);
}

/* Retries: at once after a good watch, otherwise with backoff. */
static void retry(struct reflector *r, uint64_t least_ms)
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
	end_watch(r);
	timer_start(r->timer, wait_ms > least_ms ? wait_ms : least_ms, 0);
}

static void list_again(struct reflector *r)
{
	xreplace(&r->version, NULL);
	xreplace(&r->next, NULL);
}

static void abort_watch(struct reflector *r)
{
	kube_request_cancel(take_ptr(r->request));
	retry(r, 0);
}

/* A 410 means that the resourceVersion or continue token is too old, a 400 or
 * 404 that it is invalid. After any other failure the same request may succeed
 * later. */
static void on_failure(struct reflector *r, const char *what,
	const struct http_response *response)
{
	if (response->status == STATUS_GONE ||
		response->status == STATUS_BAD_REQUEST ||
		response->status == STATUS_NOT_FOUND) {
		list_again(r);
	}
	(void)error_set(&r->last_error, response->status, "cannot %s %s: %s",
		what, r->path, response->error);
	retry(r, response->retry_after_ms);
}

static bool end_list(struct reflector *r, const char *version)
{
	xreplace(&r->version, version);
	xreplace(&r->next, NULL);
	r->page = PAGE_OBJECTS;
	return object_reports_end_all(&r->reports);
}

/* ---- watch ---- */

static bool on_bookmark(struct reflector *r, const struct watch_event *event)
{
	if (!r->is_initial || !event->ends_initial) {
		return true;
	}
	r->is_initial = false;
	timer_stop(r->timer);
	return end_list(r, event->resource_version);
}

static bool on_event(struct reflector *r, const struct watch_event *event)
{
	switch (event->type) {
	case WATCH_CHANGED:
		return object_reports_add(&r->reports, event->object);
	case WATCH_DELETED:
		return object_reports_remove(&r->reports, event->object);
	case WATCH_BOOKMARK:
		return on_bookmark(r, event);
	case WATCH_EXPIRED:
		list_again(r);
		break;
	case WATCH_ERROR:
		break;
	}
	(void)error_set(&r->last_error, 0, "watch of %s ended: %s", r->path,
		event->message);
	abort_watch(r);
	return false;
}

static bool on_line(void *owner, const char *line, size_t len)
{
	struct reflector *r = owner;
	struct watch_event event;
	bool continues;

	if (watch_event_parse(&event, line, len, &r->last_error) < 0) {
		(void)error_wrap(&r->last_error, 0, "watch of %s", r->path);
		list_again(r);
		abort_watch(r);
		return false;
	}
	continues = on_event(r, &event);
	if (continues && !r->is_initial) {
		r->failures = 0;
		xreplace(&r->version, event.resource_version);
	}
	watch_event_fini(&event);
	return continues;
}

static void on_watch_chunk(void *owner, const char *bytes, size_t len)
{
	struct reflector *r = owner;

	r->contact_us = clock_monotonic_us();
	if (r->opened_us == 0) {
		r->opened_us = r->contact_us;
		r->last_error = (struct error){ 0 };
	}
	if (r->is_initial) {
		timer_start(r->timer, STALL_MS, 0);
	}
	r->is_busy = true;
	if (line_reader_feed(&r->line_reader, bytes, len, on_line, r,
		    &r->last_error) < 0) {
		(void)error_wrap(&r->last_error, 0, "watch of %s", r->path);
		list_again(r);
		abort_watch(r);
	}
	(void)end_handlers(r);
}

/* True if the server was unreachable. A server that returns may run on an etcd
 * restored from a backup; it would then send no events and no error until its
 * revision exceeds the old one. */
static bool was_unreachable(const struct reflector *r,
	const struct http_response *response)
{
	return r->opened_us == 0 &&
		(response->status == 0 ||
			response->status == STATUS_BAD_GATEWAY ||
			response->status == STATUS_UNAVAILABLE ||
			response->status == STATUS_GATEWAY_TIMEOUT);
}

static void on_watch_done(void *owner, const struct http_response *response)
{
	struct reflector *r = owner;

	r->request = NULL;
	if (response->status == STATUS_OK) {
		/* Every watch ends like this at its timeout. */
		if (!had_good_watch(r)) {
			(void)error_set(&r->last_error, 0,
				"watch of %s ended immediately", r->path);
		}
		retry(r, 0);
		return;
	}
	if (was_unreachable(r, response)) {
		list_again(r);
	}
	on_failure(r, "watch", response);
}

/* Sends a GET. path has all parameters but the selectors. */
static void get(struct reflector *r, struct buffer *path,
	struct kube_call *call)
{
	url_query_add(path, "fieldSelector", r->field_selector);
	url_query_add(path, "labelSelector", r->label_selector);
	if (path->overflowed) {
		(void)error_set(&r->last_error, 0,
			"cannot list %s: its continue token is too long",
			r->path);
		list_again(r);
		retry(r, 0);
		return;
	}
	call->method = "GET";
	call->path = path->data;
	call->owner = r;
	r->request = kube_request_send(r->client, call);
}

/* The end of a watch that began with initial events. */
static void on_stream_done(void *owner, const struct http_response *response)
{
	struct reflector *r = owner;

	if (!r->is_initial) {
		on_watch_done(r, response);
		return;
	}
	r->request = NULL;
	if (response->status == STATUS_OK) {
		(void)error_set(&r->last_error, 0,
			"the initial events of %s ended too early", r->path);
		retry(r, 0);
	} else if (response->status == STATUS_BAD_REQUEST ||
		response->status == STATUS_INVALID) {
		list_instead(r);
	} else {
		on_failure(r, "list", response);
	}
}

/* version NULL: the watch begins with an event for each object that exists, and
 * a bookmark after them. A list in pages would cost the server more with each
 * object: for each page, it walks over all objects behind it. */
static void watch(struct reflector *r)
{
	scoped_buffer struct buffer path = BUFFER_MAX(PATH_MAX_BYTES);
	unsigned seconds =
		WATCH_LEAST_S + (unsigned)(WATCH_SPREAD_S * random_share());
	scoped_free char *timeout = xasprintf("%u", seconds);

	buffer_text(&path, r->path);
	url_query_add(&path, "watch", "1");
	url_query_add(&path, "allowWatchBookmarks", "true");
	url_query_add(&path, "resourceVersion", r->version);
	url_query_add(&path, "timeoutSeconds", timeout);
	if (r->version == NULL) {
		url_query_add(&path, "sendInitialEvents", "true");
		url_query_add(&path, "resourceVersionMatch", "NotOlderThan");
		r->is_initial = true;
		object_reports_begin_all(&r->reports);
		timer_start(r->timer, STALL_MS, 0);
	}
	get(r, &path,
		&(struct kube_call){
			.timeout_ms =
				1000 * (uint64_t)(seconds + WATCH_GRACE_S),
			.max = CHUNK_MAX,
			.on_chunk = on_watch_chunk,
			.on_done = on_stream_done,
		});
}

/* ---- list ---- */

static bool on_item(void *owner, const struct json_value *item)
{
	struct reflector *r = owner;

	return object_reports_add(&r->reports, item);
}

static void on_page(struct reflector *r, const struct http_response *response)
{
	struct list_page page;
	int result;

	r->is_busy = true;
	result = list_page_read(&page, response->body, response->len, on_item,
		r, &r->last_error);
	if (result == 0) {
		if (page.next[0] != '\0') {
			xreplace(&r->next, page.next);
		} else {
			(void)end_list(r, page.resource_version);
		}
		list_page_fini(&page);
	}
	if (!end_handlers(r)) {
		return;
	}
	if (result < 0) {
		(void)error_wrap(&r->last_error, result, "list of %s", r->path);
		list_again(r);
		retry(r, 0);
		return;
	}
	start(r);
}

static void on_list_done(void *owner, const struct http_response *response)
{
	struct reflector *r = owner;

	r->request = NULL;
	if (response->status == STATUS_OK) {
		r->contact_us = clock_monotonic_us();
		on_page(r, response);
		return;
	}
	if (response->is_too_large && r->page > 1) {
		r->page = r->page > PAGE_SHRINKS ? r->page / PAGE_SHRINKS : 1;
		start(r);
		return;
	}
	on_failure(r, "list", response);
}

static void list(struct reflector *r)
{
	scoped_buffer struct buffer path = BUFFER_MAX(PATH_MAX_BYTES);
	scoped_free char *limit = xasprintf("%u", r->page);

	if (r->next == NULL) {
		object_reports_begin_all(&r->reports);
	}
	buffer_text(&path, r->path);
	url_query_add(&path, "limit", limit);
	url_query_add(&path, "continue", r->next);
	get(r, &path,
		&(struct kube_call){
			.timeout_ms = LIST_TIMEOUT_MS,
			.max = PAGE_MAX,
			.on_done = on_list_done,
		});
}

static void list_instead(struct reflector *r)
{
	r->has_no_stream = true;
	end_watch(r);
	timer_stop(r->timer);
	start(r);
}

/* Also called by the timer, between requests or when initial events stall. */
static void start(void *owner)
{
	struct reflector *r = owner;

	if (r->is_initial) {
		kube_request_cancel(take_ptr(r->request));
		list_instead(r);
	} else if (r->version != NULL || !r->has_no_stream) {
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
	r->reports.handler = *handler;
	xreplace(&r->path, options->path);
	xreplace(&r->field_selector, options->field_selector);
	xreplace(&r->label_selector, options->label_selector);
	r->timer = timer_new(kube_client_loop(client), start, r);
	line_reader_init(&r->line_reader, LINE_MAX_BYTES);
	r->page = PAGE_OBJECTS;
	start(r);
	return r;
}

struct reflector_state reflector_state(const struct reflector *r)
{
	return (struct reflector_state){
		.is_synced = r->reports.is_synced,
		.is_watching = r->opened_us != 0 && !r->is_initial,
		.contact_us = r->contact_us,
		.last_error = r->last_error.text,
		.is_refused = r->last_error.code > 0,
	};
}

void reflector_close(struct reflector *r)
{
	if (r == NULL) {
		return;
	}
	kube_request_cancel(take_ptr(r->request));
	timer_close(r->timer);
	r->reports.is_closed = true;
	if (!r->is_busy) {
		reflector_free(r);
	}
}
