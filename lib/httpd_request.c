#include "lib/httpd.h"

#include "lib/clock.h"
#include "lib/httpd_private.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct httpd_request *httpd_request_new(struct httpd *httpd,
	struct MHD_Connection *connection, const char *url, const char *method)
{
	struct httpd_request *request = xcalloc(1, sizeof(*request));

	request->httpd = httpd;
	request->connection = connection;
	request->client = MHD_get_connection_info(connection,
		MHD_CONNECTION_INFO_SOCKET_CONTEXT)
				  ->socket_context;
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
	free(request->reply);
	free(request);
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

void httpd_request_set_error(struct httpd_request *request, int status,
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

static const struct httpd_body *body_of(const struct httpd_request *request)
{
	const struct httpd *httpd = request->httpd;

	for (size_t i = 0; i < httpd->body_count; i++) {
		if (strcmp(request->method, httpd->bodies[i].method) == 0 &&
			strcmp(request->path, httpd->bodies[i].path) == 0) {
			return &httpd->bodies[i];
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

bool httpd_request_admit_body(struct httpd_request *request)
{
	const struct httpd_body *body = body_of(request);
	size_t size = announced_size(request);
	char sentence[100];

	request->is_body_left = size > 0;
	if (size == 0 || body == NULL) {
		return true;
	}
	if (size == SIZE_MAX) {
		httpd_request_set_error(request, MHD_HTTP_LENGTH_REQUIRED,
			"a body needs a Content-Length");
	} else if (size > body->max) {
		(void)snprintf(sentence, sizeof(sentence),
			"the body is larger than %.4g MiB",
			(double)body->max / (1 << 20));
		httpd_request_set_error(request, 413, sentence);
	} else if (!take(request, CLIENT_BODY, size)) {
		httpd_request_set_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
			"too many bodies are on their way; try again later");
	} else {
		request->is_body_left = false;
		request->body = BUFFER_MAX(size);
		(void)buffer_room(&request->body, size);
	}
	return !request->is_body_left;
}

/* ---- responses ---- */

/* The response does not need what the request brought. */
static void forget_body(struct httpd_request *request)
{
	buffer_fini(&request->body);
	clients_give_back(&request->httpd->clients, request->client,
		CLIENT_BODY);
}

static void finish(struct httpd_request *request)
{
	LIST_REMOVE(request, link);
	forget_body(request);
	/* From here on libmicrohttpd's thread may free the request. */
	MHD_resume_connection(request->connection);
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
