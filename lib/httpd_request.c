#include "lib/httpd.h"

#include "lib/httpd_private.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct http_request *httpd_request_new(struct httpd *httpd,
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

void httpd_request_free(struct http_request *request)
{
	buffer_fini(&request->body);
	free(request->path);
	free(request->type);
	free(request->reply);
	free(request);
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

void httpd_request_set_error(struct http_request *request, int status,
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

static void finish(struct http_request *request)
{
	LIST_REMOVE(request, link);
	/* From here on libmicrohttpd's thread may free it. */
	MHD_resume_connection(request->connection);
}

void http_reply_stream(struct http_request *request, int status,
	const char *type, const struct http_stream *stream)
{
	stream_init(&request->stream, stream);
	request->is_streamed = true;
	request->status = status;
	request->type = xstrdup(type);
	request->progress = PROGRESS_REPLIED;
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
	httpd_request_set_error(request, status, sentence);
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
