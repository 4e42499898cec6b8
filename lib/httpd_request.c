#include "lib/httpd.h"

#include "lib/httpd_private.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct httpd_request *httpd_request_new(struct httpd *httpd,
	struct MHD_Connection *connection, const char *url, const char *method)
{
	struct httpd_request *request = xcalloc(1, sizeof(*request));

	request->httpd = httpd;
	request->connection = connection;
	request->method = method;
	request->path = xstrdup(url);
	request->body = BUFFER_MAX(HTTPD_BODY_MAX);
	return request;
}

void httpd_request_free(struct httpd_request *request)
{
	buffer_fini(&request->body);
	free(request->path);
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

/* Adds the response to the unread bytes. False: there are too many. */
static bool count_unread(struct httpd_request *request, size_t len)
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

static void finish(struct httpd_request *request)
{
	LIST_REMOVE(request, link);
	/* From here on libmicrohttpd's thread may free the request. */
	MHD_resume_connection(request->connection);
}

void httpd_reply_stream(struct httpd_request *request, int status,
	const char *type, const struct httpd_stream *stream)
{
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
	if (!count_unread(request, len)) {
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
