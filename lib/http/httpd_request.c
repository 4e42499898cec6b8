#include "lib/http/httpd_request.h"

#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <microhttpd.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct httpd_request *httpd_request_new(struct httpd *httpd,
	struct MHD_Connection *connection, const char *url, const char *method)
{
	struct httpd_request *request = xcalloc(1, sizeof(*request));
	struct httpd_connection *own;

	request->httpd = httpd;
	request->connection = connection;
	own = MHD_get_connection_info(connection,
		MHD_CONNECTION_INFO_SOCKET_CONTEXT)
		      ->socket_context;
	request->client = &own->client;
	request->method = method;
	request->path = xstrdup(url);
	return request;
}

void httpd_request_free(struct httpd_request *request)
{
	buffer_fini(&request->body);
	free(request->path);
	free(request->user);
	free(request->type);
	free(request->tag);
	free(request->header_value);
	free(request->reply);
	buffer_fini(&request->stream.part);
	httpd_gzip_free(request->stream.gzip);
	free(request);
}

bool httpd_request_suspend(struct httpd_request *request,
	enum progress progress)
{
	struct httpd *httpd = request->httpd;
	bool open;

	uv_mutex_lock(&httpd->mutex);
	open = !httpd->closing;
	if (open) {
		request->progress = progress;
		MHD_suspend_connection(request->connection);
		inbox_push(httpd->inbox, &request->item);
	}
	uv_mutex_unlock(&httpd->mutex);
	return open;
}

static void set_reply(struct httpd_request *request, int status,
	const char *type, const char *body, size_t len)
{
	request->status = status;
	request->type = xstrdup(type);
	request->reply = xmemdup(body, len);
	request->reply_len = len;
	request->progress = PROGRESS_REPLIED;
}

static void write_error(struct buffer *out, const char *sentence)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "error", sentence);
	json_object_end(&j);
}

void httpd_request_set_error(struct httpd_request *request, int status,
	const char *sentence)
{
	scoped_buffer struct buffer body = BUFFER_MAX(16384);
	httpd_write_error write = request->httpd->options.write_error;

	if (write == NULL || !write(&body, request->path, status, sentence)) {
		write_error(&body, sentence);
	}
	buffer_char(&body, '\n');
	set_reply(request, status, "application/json", body.data, body.len);
}

/* ---- bodies ---- */

/* The size of the body that the headers announce; SIZE_MAX: not said before its
 * end. libmicrohttpd has checked that Content-Length is a number, and ignores
 * it beside Transfer-Encoding. */
static size_t announced_size(const struct httpd_request *request)
{
	const char *length = httpd_header(request, "Content-Length");
	size_t size = 0;

	if (httpd_header(request, "Transfer-Encoding") != NULL) {
		return SIZE_MAX;
	}
	for (; length != NULL && *length >= '0' && *length <= '9'; length++) {
		if (size > SIZE_MAX / 100) {
			return SIZE_MAX - 1;
		}
		size = size * 10 + (size_t)(*length - '0');
	}
	return size;
}

/* An asterisk in the pattern is one segment of the path. */
static bool is_path_of(const char *path, const char *pattern)
{
	while (*pattern != '\0' && (*pattern == '*' || *pattern == *path)) {
		size_t len = *pattern == '*' ? strcspn(path, "/") : 1;

		if (len == 0) {
			return false;
		}
		path += len;
		pattern++;
	}
	return *pattern == '\0' && *path == '\0';
}

static const struct httpd_body *body_of(const struct httpd_request *request)
{
	const struct httpd_options *options = &request->httpd->options;

	for (size_t i = 0; i < options->body_count; i++) {
		if (strcmp(request->method, options->bodies[i].method) == 0 &&
			is_path_of(request->path, options->bodies[i].path)) {
			return &options->bodies[i];
		}
	}
	return NULL;
}

/* Takes the share of a client in what the server may hold. */
static bool take(struct httpd_request *request, enum client_share share,
	size_t size)
{
	return clients_take(&request->httpd->clients, request->client, share,
		request->user, size, clock_monotonic_us());
}

static void refuse_large(struct httpd_request *request, size_t max)
{
	char sentence[100];

	(void)snprintf(sentence, sizeof(sentence),
		"the body is larger than %.4g MiB", (double)max / (1 << 20));
	httpd_request_set_error(request, 413, sentence);
}

bool httpd_request_admit_body(struct httpd_request *request)
{
	const struct httpd_body *body = body_of(request);
	size_t size = announced_size(request);

	request->is_body_left = size > 0;
	if (size == 0 || body == NULL) {
		return true;
	}
	if (size == SIZE_MAX && body->takes_chunks) {
		request->is_chunked = true;
		size = body->max;
	}
	if (size == SIZE_MAX) {
		httpd_request_set_error(request, MHD_HTTP_LENGTH_REQUIRED,
			"a body needs a Content-Length");
	} else if (size > body->max) {
		refuse_large(request, body->max);
	} else if (!take(request, CLIENT_BODY, size)) {
		httpd_request_set_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
			"too many bodies are on their way; try again later");
	} else {
		request->is_body_left = false;
		request->body = BUFFER_MAX(size);
		if (!request->is_chunked) {
			(void)buffer_room(&request->body, size);
		}
	}
	return !request->is_body_left;
}

bool httpd_request_end_body(struct httpd_request *request)
{
	struct clients *clients = &request->httpd->clients;

	if (!request->is_chunked) {
		return true;
	}
	clients_give_back(clients, request->client, CLIENT_BODY);
	if (request->body.overflowed) {
		refuse_large(request, request->body.max);
		return false;
	}
	/* Less than before, unless somebody took the rest since: the body is
	 * in memory, and is served either way. */
	(void)take(request, CLIENT_BODY, request->body.len);
	return true;
}

bool httpd_is_abandoned(const struct httpd_request *request)
{
	/* libmicrohttpd does not close a connection that is suspended. */
	struct pollfd polled = { .fd = request->client->fd,
		.events = POLLRDHUP };

	return poll(&polled, 1, 0) > 0;
}

/* ---- responses ---- */

/* The response does not need what the request brought. */
static void forget_body(struct httpd_request *request)
{
	struct clients *clients = &request->httpd->clients;

	buffer_fini(&request->body);
	clients_give_back(clients, request->client, CLIENT_BODY);
	clients_give_back(clients, request->client, CLIENT_PLACE);
}

static void finish(struct httpd_request *request)
{
	LIST_REMOVE(request, link);
	forget_body(request);
	/* From here on libmicrohttpd's thread may free the request. */
	MHD_resume_connection(request->connection);
}

bool httpd_take_place(struct httpd_request *request, bool may_wait)
{
	if (take(request, CLIENT_PLACE, may_wait ? HTTPD_PLACES_OF_WAIT : 1)) {
		return true;
	}
	httpd_reply_error(request, 429,
		"too many requests of this user, or of all, are open; try "
		"again later");
	return false;
}

bool httpd_take_stream(struct httpd_request *request)
{
	if (take(request, CLIENT_STREAM, 1)) {
		return true;
	}
	httpd_reply_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
		"%d long responses are open already: try again later",
		HTTPD_STREAMS);
	return false;
}

void httpd_reply_stream(struct httpd_request *request, int status,
	const char *type, const struct httpd_stream *stream)
{
	forget_body(request);
	stream_init(&request->stream, stream);
	request->is_streamed = true;
	request->status = status;
	request->type = xstrdup(type);
	request->progress = PROGRESS_REPLIED;
	MHD_resume_connection(request->connection);
}

void httpd_reply(struct httpd_request *request, int status, const char *type,
	const char *body, size_t len)
{
	if (!take(request, CLIENT_RESPONSE, len)) {
		httpd_reply_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
			"too many unread responses; try again later");
		return;
	}
	set_reply(request, status, type, body, len);
	finish(request);
}

void httpd_request_reply_fixed(struct httpd_request *request,
	const struct httpd_fixed *fixed)
{
	request->fixed = *fixed;
	request->status = fixed->status;
	request->type = xstrdup(fixed->type);
	request->tag = xstrdup(fixed->tag);
	request->fixed.tag = request->tag;
	request->reply_len = fixed->len;
	request->progress = PROGRESS_REPLIED;
	finish(request);
}

void httpd_reply_error(struct httpd_request *request, int status,
	const char *format, ...)
{
	char sentence[1024];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	httpd_request_set_error(request, status, sentence);
	finish(request);
}

const char *httpd_method(const struct httpd_request *request)
{
	return request->method;
}

const char *httpd_path(const struct httpd_request *request)
{
	return request->path;
}

const char *httpd_header(const struct httpd_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND,
		name);
}

struct header_visit {
	void (*each)(void *owner, const char *name, const char *value);
	void *owner;
};

static enum MHD_Result visit_header(void *cls, enum MHD_ValueKind kind,
	const char *name, const char *value)
{
	const struct header_visit *visit = cls;

	(void)kind;
	visit->each(visit->owner, name, value == NULL ? "" : value);
	return MHD_YES;
}

void httpd_each_header(const struct httpd_request *request,
	void (*each)(void *owner, const char *name, const char *value),
	void *owner)
{
	struct header_visit visit = { each, owner };

	(void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND,
		visit_header, &visit);
}

int httpd_client_name(char *out, const struct httpd_request *request,
	struct error *err)
{
	const struct httpd_trust *trust = request->httpd->trust;

	if (trust == NULL) {
		return error_set(err, -EACCES,
			"client certificates are not asked for");
	}
	return httpd_trust_name(trust, out, HTTPD_CLIENT_NAME_MAX,
		request->connection, err);
}

const char *httpd_query(const struct httpd_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection,
		MHD_GET_ARGUMENT_KIND, name);
}

const char *httpd_body(const struct httpd_request *request, size_t *len)
{
	*len = request->body.len;
	return request->body.data == NULL ? "" : request->body.data;
}

void httpd_set_user(struct httpd_request *request, const char *user)
{
	/* No address has a space. */
	free(request->user);
	request->user = xasprintf("user %s", user);
}

const char *httpd_peer(const struct httpd_request *request)
{
	return request->user == NULL ? request->client->address : request->user;
}
