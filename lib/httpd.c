#include "lib/httpd.h"

#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/httpd_clients.h"
#include "lib/httpd_socket.h"
#include "lib/inbox.h"
#include "lib/json.h"
#include "lib/loop.h"
#include "lib/memory.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IDLE_TIMEOUT_S = 15, HEADERS_MAX = 32 << 10 };

enum { REAP_MS = 500 };

enum progress {
	PROGRESS_READING, /* headers and body are coming in */
	PROGRESS_SERVING, /* suspended; the loop has it */
	PROGRESS_REPLIED, /* resumed; the reply is to be queued */
};

struct http_request {
	struct inbox_item item;
	struct httpd *httpd;
	struct MHD_Connection *connection;
	LIST_ENTRY(http_request) link; /* in httpd->open, the loop's */
	const char *method;
	char *path;
	struct buffer body;
	enum progress progress;
	int status;
	char *type;
	char *reply;
	size_t reply_len;
	size_t unread; /* its part of httpd->unread */
};

struct httpd {
	struct MHD_Daemon *daemon;
	struct inbox *inbox;
	struct timer *reaper;
	http_serve serve;
	void *owner;
	LIST_HEAD(request_list, http_request) open; /* the loop's */
	uv_mutex_t mutex;
	size_t unread; /* guarded by mutex */
	bool closing;  /* guarded by mutex */
	struct clients clients;
	uint16_t port;
};

/* ---- connections ---- */

static void reap(void *owner)
{
	struct httpd *httpd = owner;

	clients_reap(&httpd->clients, clock_monotonic_us());
}

/* Its connection is in another state now. */
static void set_state(struct httpd *httpd, struct MHD_Connection *connection,
	enum client_state state)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	if (info != NULL && info->socket_context != NULL) {
		clients_set(&httpd->clients, info->socket_context, state,
			clock_monotonic_us());
	}
}

static void on_connection(void *cls, struct MHD_Connection *connection,
	void **context, enum MHD_ConnectionNotificationCode code)
{
	struct httpd *httpd = cls;
	struct client *client;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		client = xcalloc(1, sizeof(*client));
		clients_add(&httpd->clients, client,
			MHD_get_connection_info(connection,
				MHD_CONNECTION_INFO_CONNECTION_FD)
				->connect_fd,
			clock_monotonic_us());
		*context = client;
	} else if (*context != NULL) {
		clients_remove(&httpd->clients, *context);
		free(*context);
		*context = NULL;
	}
}

/* ---- one request, on libmicrohttpd's thread ---- */

static struct http_request *request_new(struct httpd *httpd,
	struct MHD_Connection *connection, const char *url, const char *method)
{
	struct http_request *request = xcalloc(1, sizeof(*request));

	request->httpd = httpd;
	request->connection = connection;
	request->method = method;
	request->path = xstrdup(url);
	request->body = BUFFER_MAX(HTTPD_BODY_MAX);
	return request;
}

static void request_free(struct http_request *request)
{
	buffer_fini(&request->body);
	free(request->path);
	free(request->type);
	free(request->reply);
	free(request);
}

/* Counts an answer's bytes until it is read. False: there are too many. */
static bool hold_reply(struct http_request *request, size_t len)
{
	struct httpd *httpd = request->httpd;
	bool fits;

	uv_mutex_lock(&httpd->mutex);
	fits = httpd->unread == 0 || httpd->unread + len <= HTTPD_UNREAD_MAX;
	if (fits) {
		httpd->unread += len;
		request->unread = len;
	}
	uv_mutex_unlock(&httpd->mutex);
	return fits;
}

static void let_go_of_reply(struct httpd *httpd,
	const struct http_request *request)
{
	uv_mutex_lock(&httpd->mutex);
	httpd->unread -= request->unread;
	uv_mutex_unlock(&httpd->mutex);
}

static void on_completed(void *cls, struct MHD_Connection *connection,
	void **context, enum MHD_RequestTerminationCode code)
{
	struct httpd *httpd = cls;

	(void)code;
	if (*context != NULL) {
		let_go_of_reply(httpd, *context);
		request_free(*context);
		*context = NULL;
	}
	/* A kept connection has as long for its next request. */
	set_state(httpd, connection, CLIENT_ASKING);
}

static enum MHD_Result queue_reply(struct MHD_Connection *connection,
	struct http_request *request)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		request->reply_len, request->reply, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result r;

	set_state(request->httpd, connection, CLIENT_READING);
	request->reply = NULL;
	(void)MHD_add_response_header(response, "Content-Type", request->type);
	(void)MHD_add_response_header(response, "Cache-Control", "no-store");
	(void)MHD_add_response_header(response, "X-Content-Type-Options",
		"nosniff");
	if (request->status == MHD_HTTP_UNAUTHORIZED) {
		(void)MHD_add_response_header(response, "WWW-Authenticate",
			"Bearer");
	}
	r = MHD_queue_response(connection, (unsigned int)request->status,
		response);
	MHD_destroy_response(response);
	return r;
}

static void set_reply(struct http_request *request, int status,
	const char *type, const char *body, size_t len)
{
	request->status = status;
	request->type = xstrdup(type);
	request->reply = xmemdup(body, len);
	request->reply_len = len;
	request->progress = PROGRESS_REPLIED;
}

static void set_error(struct http_request *request, int status,
	const char *sentence)
{
	scoped_buffer struct buffer body = BUFFER_MAX(4096);
	struct json j = json_into(&body);

	json_object(&j, NULL);
	json_string(&j, "error", sentence);
	json_object_end(&j);
	buffer_char(&body, '\n');
	set_reply(request, status, "application/json", body.data, body.len);
}

/* Hands a complete request to the loop. False: the server is closing. */
static bool suspend(struct httpd *httpd, struct http_request *request)
{
	bool open;

	uv_mutex_lock(&httpd->mutex);
	open = !httpd->closing;
	if (open) {
		request->progress = PROGRESS_SERVING;
		MHD_suspend_connection(request->connection);
		inbox_push(httpd->inbox, &request->item);
	}
	uv_mutex_unlock(&httpd->mutex);
	return open;
}

/* Once the request is handed over it is not ours to look at. */
static enum MHD_Result begin_serving(struct httpd *httpd,
	struct http_request *request)
{
	set_state(httpd, request->connection, CLIENT_SERVED);
	if (request->body.overflowed) {
		set_error(request, 413, "the body is larger than 4 MiB");
	} else if (suspend(httpd, request)) {
		return MHD_YES;
	} else {
		set_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
			"shutting down");
	}
	return queue_reply(request->connection, request);
}

/* The parameters are libmicrohttpd's. */
// NOLINTNEXTLINE(readability-function-size)
static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection,
	const char *url, const char *method, const char *version,
	const char *upload, size_t *upload_len, void **context)
{
	struct httpd *httpd = cls;
	struct http_request *request = *context;

	(void)version;
	if (request == NULL) {
		*context = request_new(httpd, connection, url, method);
		return MHD_YES;
	}
	if (*upload_len > 0) {
		buffer_append(&request->body, upload, *upload_len);
		*upload_len = 0;
		return MHD_YES;
	}
	if (request->progress == PROGRESS_READING) {
		return begin_serving(httpd, request);
	}
	if (request->progress == PROGRESS_REPLIED) {
		return queue_reply(connection, request);
	}
	return MHD_YES;
}

/* ---- on the loop's thread ---- */

static void deliver(void *owner, struct inbox_item *item)
{
	struct httpd *httpd = owner;
	struct http_request *request = (struct http_request *)item;

	LIST_INSERT_HEAD(&httpd->open, request, link);
	httpd->serve(httpd->owner, request);
}

static void finish(struct http_request *request)
{
	LIST_REMOVE(request, link);
	/* From here on libmicrohttpd's thread may free it. */
	MHD_resume_connection(request->connection);
}

void http_reply(struct http_request *request, int status, const char *type,
	const char *body, size_t len)
{
	if (!hold_reply(request, len)) {
		http_reply_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
			"too many large answers are being read: try later");
		return;
	}
	set_reply(request, status, type, body, len);
	finish(request);
}

void http_reply_error(struct http_request *request, int status,
	const char *format, ...)
{
	char sentence[1024];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	set_error(request, status, sentence);
	finish(request);
}

const char *http_method(const struct http_request *request)
{
	return request->method;
}

const char *http_path(const struct http_request *request)
{
	return request->path;
}

const char *http_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND,
		name);
}

const char *http_query(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection,
		MHD_GET_ARGUMENT_KIND, name);
}

const char *http_body(const struct http_request *request, size_t *len)
{
	*len = request->body.len;
	return request->body.data == NULL ? "" : request->body.data;
}

/* ---- the server ---- */

/* poll, not epoll: epoll mode does not see a FIN after a partial request until
 * the timeout. */
static struct MHD_Daemon *start_daemon(struct httpd *httpd, int fd,
	const struct tls_material *tls)
{
	unsigned int flags =
		MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
	struct MHD_OptionItem plain[] = { { MHD_OPTION_END, 0, NULL } };
	struct MHD_OptionItem secure[] = {
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, tls == NULL ? NULL : tls->key },
		{ MHD_OPTION_HTTPS_MEM_CERT, 0,
			tls == NULL ? NULL : tls->cert },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0,
			(void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" },
		{ MHD_OPTION_END, 0, NULL },
	};

	return MHD_start_daemon(flags | (tls == NULL ? 0 : MHD_USE_TLS), 0,
		NULL, NULL, on_request, httpd, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)HTTPD_CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_TIMEOUT_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS_MAX,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, httpd,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, httpd,
		MHD_OPTION_ARRAY, tls == NULL ? plain : secure, MHD_OPTION_END);
}

int httpd_new(struct httpd **out, uv_loop_t *loop,
	const struct httpd_options *options, struct error *err)
{
	struct httpd *httpd;
	int fd = -1;
	int r = httpd_socket_open(&fd, options->address, err);

	if (r < 0) {
		return r;
	}
	httpd = xcalloc(1, sizeof(*httpd));
	httpd->serve = options->serve;
	httpd->owner = options->owner;
	httpd->port = httpd_socket_port(fd);
	if (uv_mutex_init(&httpd->mutex) != 0) {
		abort();
	}
	clients_init(&httpd->clients, HTTPD_CONNECTIONS / 4 * 3);
	httpd->inbox = inbox_new(loop, deliver, httpd);
	httpd->reaper = timer_new(loop, reap, httpd);
	timer_start(httpd->reaper, REAP_MS, REAP_MS);
	httpd->daemon = start_daemon(httpd, fd, options->tls);
	if (httpd->daemon == NULL) {
		(void)close(fd);
		httpd_close(httpd);
		return error_set(err, -EINVAL, "cannot serve HTTP on '%s'%s",
			options->address,
			options->tls == NULL
				? ""
				: ": certificate and key are no pair or no "
				  "PEM");
	}
	*out = httpd;
	return 0;
}

uint16_t httpd_port(const struct httpd *httpd)
{
	return httpd->port;
}

uint64_t httpd_strangers(struct httpd *httpd)
{
	return clients_strangers(&httpd->clients);
}

void httpd_close(struct httpd *httpd)
{
	if (httpd == NULL) {
		return;
	}
	uv_mutex_lock(&httpd->mutex);
	httpd->closing = true;
	uv_mutex_unlock(&httpd->mutex);
	timer_close(httpd->reaper);
	/* Delivers what was pushed before; all that is open gets its 503. */
	inbox_close(httpd->inbox);
	for (struct http_request *r = LIST_FIRST(&httpd->open), *next;
		r != NULL; r = next) {
		next = LIST_NEXT(r, link);
		http_reply_error(r, MHD_HTTP_SERVICE_UNAVAILABLE,
			"shutting down");
	}
	if (httpd->daemon != NULL) {
		MHD_stop_daemon(httpd->daemon);
	}
	clients_fini(&httpd->clients);
	uv_mutex_destroy(&httpd->mutex);
	free(httpd);
}
