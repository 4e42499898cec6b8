#include "kube/reflector.h"

#include "kube/backoff.h"
#include "kube/client.h"
#include "kube/list_reader.h"
#include "kube/object_reports.h"
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
	PATH_MAX_BYTES = 64 << 10,
	OBJECT_MAX = 4 << 20, /* etcd accepts objects of up to 1.5 MiB */
	CHUNK_MAX = 32 << 20,
	/* The longest pause in a list. A server that fills its cache or encodes
	 * the whole list first sends nothing for a while; kube-apiserver itself
	 * gives such a request 60 s. */
	STALL_MS = 60000,
	LIST_TIMEOUT_MS = 600000,
	/* The longest silence of a watch. A load balancer may have dropped the
	 * server's side and kept ours. kube-apiserver sends a bookmark about
	 * once a minute; not all versions do for kinds that never change, and
	 * to watch again from the same version costs them little. */
	SILENCE_MS = 90000,
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
	struct line_reader line_reader; /* of the watch */
	struct list_reader list_reader;
	char *version;	   /* resourceVersion to watch from; NULL: list first */
	uint64_t asked_us; /* when the watch was sent */
	uint64_t opened_us; /* start of the open watch; 0: none is open */
	uint64_t contact_us;
	unsigned failures; /* consecutive */
	struct error last_error;
	bool is_busy; /* a handler may be running */
	/* The last request met silence: other connections may, too. */
	bool was_silent;
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

static void reflector_free(struct reflector *r)
{
	object_reports_fini(&r->reports);
	line_reader_fini(&r->line_reader);
	list_reader_fini(&r->list_reader);
	free(r->path);
	free(r->field_selector);
	free(r->label_selector);
	free(r->version);
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
	return r->opened_us != 0 &&
		clock_monotonic_us() - r->opened_us >= GOOD_WATCH_US;
}

static void end_watch(struct reflector *r)
{
	r->opened_us = 0;
	line_reader_fini(&r->line_reader);
	line_reader_init(&r->line_reader, OBJECT_MAX);
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
}

static void abort_request(struct reflector *r)
{
	kube_request_cancel(take_ptr(r->request));
	retry(r, 0);
}

/* A 410 means that the resourceVersion is too old, a 400 or 404 that it is
 * invalid. After any other failure the same request may succeed later. */
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

/* ---- watch ---- */

static bool on_event(struct reflector *r, const struct watch_event *event)
{
	switch (event->type) {
	case WATCH_CHANGED:
		return object_reports_add(&r->reports, event->object);
	case WATCH_DELETED:
		return object_reports_remove(&r->reports, event->object);
	case WATCH_BOOKMARK:
		return true;
	case WATCH_EXPIRED:
		list_again(r);
		break;
	case WATCH_ERROR:
		break;
	}
	(void)error_set(&r->last_error, 0, "watch of %s ended: %s", r->path,
		event->message);
	abort_request(r);
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
		abort_request(r);
		return false;
	}
	continues = on_event(r, &event);
	if (continues) {
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
	r->was_silent = false;
	if (r->opened_us == 0) {
		r->opened_us = r->contact_us;
		r->last_error = (struct error){ 0 };
	}
	r->is_busy = true;
	if (line_reader_feed(&r->line_reader, bytes, len, on_line, r,
		    &r->last_error) < 0) {
		(void)error_wrap(&r->last_error, 0, "watch of %s", r->path);
		list_again(r);
		abort_request(r);
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
			"cannot watch %s: its resourceVersion is too long",
			r->path);
		list_again(r);
		retry(r, 0);
		return;
	}
	call->method = "GET";
	call->path = path->data;
	call->owner = r;
	call->needs_new_connection = r->was_silent;
	r->request = kube_request_send(r->client, call);
}

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
	r->asked_us = clock_monotonic_us();
	timer_start(r->timer, SILENCE_MS, 0);
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

static bool on_item(void *owner, const struct json_value *item)
{
	struct reflector *r = owner;

	return object_reports_add(&r->reports, item);
}

static void on_list_chunk(void *owner, const char *bytes, size_t len)
{
	struct reflector *r = owner;
	int result;

	r->contact_us = clock_monotonic_us();
	r->was_silent = false;
	timer_start(r->timer, STALL_MS, 0);
	r->is_busy = true;
	result = list_reader_feed(&r->list_reader, bytes, len, on_item, r,
		&r->last_error);
	if (!end_handlers(r) || result == 0) {
		return;
	}
	(void)error_wrap(&r->last_error, result, "list of %s", r->path);
	abort_request(r);
}

/* Reports what is gone, and watches. */
static void end_list(struct reflector *r)
{
	int result = list_reader_end(&r->list_reader, &r->last_error);

	if (result < 0) {
		(void)error_wrap(&r->last_error, result, "list of %s", r->path);
		retry(r, 0);
		return;
	}
	xreplace(&r->version, r->list_reader.resource_version);
	list_reader_fini(&r->list_reader);
	r->is_busy = true;
	(void)object_reports_end_all(&r->reports);
	if (end_handlers(r)) {
		start(r);
	}
}

static void on_list_done(void *owner, const struct http_response *response)
{
	struct reflector *r = owner;

	r->request = NULL;
	timer_stop(r->timer);
	if (response->status == STATUS_OK) {
		end_list(r);
	} else {
		on_failure(r, "list", response);
	}
}

/* One request for all objects, as other clients of kube-apiserver begin. A list
 * in pages costs the server the square of the number of pages. A watch that
 * sends all objects first costs it twice the CPU time, and the server ends it
 * when more changes come meanwhile than it keeps for a watch. */
static void list(struct reflector *r)
{
	scoped_buffer struct buffer path = BUFFER_MAX(PATH_MAX_BYTES);

	list_reader_fini(&r->list_reader);
	list_reader_init(&r->list_reader, OBJECT_MAX);
	object_reports_begin_all(&r->reports);
	buffer_text(&path, r->path);
	timer_start(r->timer, STALL_MS, 0);
	get(r, &path,
		&(struct kube_call){
			.timeout_ms = LIST_TIMEOUT_MS,
			.max = CHUNK_MAX,
			.on_chunk = on_list_chunk,
			.on_done = on_list_done,
		});
}

/* ---- silence ---- */

/* A watch that was open goes on at its version. One that was never answered is
 * as a server that was unreachable. */
static void replace_watch(struct reflector *r)
{
	if (r->opened_us == 0) {
		(void)error_set(&r->last_error, 0,
			"cannot watch %s: no answer for %d s", r->path,
			SILENCE_MS / 1000);
		list_again(r);
	}
	r->was_silent = true;
	abort_request(r);
}

/* The timer of a watch is not set again with all its bytes. */
static void check_silence(struct reflector *r)
{
	uint64_t heard_us =
		r->contact_us > r->asked_us ? r->contact_us : r->asked_us;
	uint64_t silent_ms = (clock_monotonic_us() - heard_us) / 1000;

	if (silent_ms < SILENCE_MS) {
		timer_start(r->timer, SILENCE_MS - silent_ms, 0);
	} else {
		replace_watch(r);
	}
}

static void end_stalled_list(struct reflector *r)
{
	(void)error_set(&r->last_error, 0, "the list of %s stopped for %d s",
		r->path, STALL_MS / 1000);
	r->was_silent = true;
	abort_request(r);
}

/* Also called by the timer: between requests, when a list stalls, and while a
 * watch may be silent. */
static void start(void *owner)
{
	struct reflector *r = owner;

	if (r->request != NULL && r->version != NULL) {
		check_silence(r);
	} else if (r->request != NULL) {
		end_stalled_list(r);
	} else if (r->version != NULL) {
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
	line_reader_init(&r->line_reader, OBJECT_MAX);
	start(r);
	return r;
}

struct reflector_state reflector_state(const struct reflector *r)
{
	return (struct reflector_state){
		.is_synced = r->reports.is_synced,
		.is_watching = r->opened_us != 0,
		.contact_us = r->contact_us,
		.last_error = r->last_error.text,
		.is_refused = r->last_error.code > 0,
	};
}

void reflector_list_again(struct reflector *r)
{
	list_again(r);
	if (r->request != NULL) {
		kube_request_cancel(take_ptr(r->request));
		end_watch(r);
		timer_start(r->timer, 0, 0);
	}
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
