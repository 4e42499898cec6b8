#include "lib/http/httpd_response.h"

#include "lib/clock.h"
#include "lib/http/accept_header.h"
#include "lib/http/httpd_request.h"
#include "lib/memory.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

/* A response shorter than GZIP_MIN is not worth compressing. */
enum { READ_BYTES = 64 << 10, GZIP_MIN = 4 << 10 };

/* Others have their answers soon, and there is room again. */
static const char retry_after_s[] = "1";

void httpd_header_set(struct httpd_request *request, const char *name,
	const char *value)
{
	free(request->header_value);
	request->header_name = name;
	request->header_value = xstrdup(value);
}

/* ---- counts ---- */

static void count(struct httpd_responses *responses, int status)
{
	size_t n = (size_t)status / 100;

	if (n < HTTPD_CLASSES) {
		(void)atomic_fetch_add(&responses->classes[n], 1);
	}
}

void httpd_responses_read(const struct httpd *httpd,
	uint64_t out[HTTPD_CLASSES])
{
	for (size_t n = 0; n < HTTPD_CLASSES; n++) {
		out[n] = atomic_load(&httpd->responses.classes[n]);
	}
}

/* ---- sending: all on libmicrohttpd's thread ---- */

static void note_progress(struct httpd_request *request, bool is_waiting)
{
	clients_moved(&request->httpd->clients, request->client, is_waiting,
		clock_monotonic_us());
}

static ssize_t read_stream(void *cls, uint64_t at, char *out, size_t max)
{
	struct httpd_request *request = cls;
	ssize_t r = stream_read(&request->stream, out, max);

	(void)at;
	note_progress(request, r == STREAM_WANTS_PART);
	if (r == STREAM_ENDED) {
		return MHD_CONTENT_READER_END_OF_STREAM;
	}
	if (r == STREAM_BROKEN ||
		(r == STREAM_WANTS_PART &&
			!httpd_request_suspend(request,
				PROGRESS_AWAITING_PART))) {
		return MHD_CONTENT_READER_END_WITH_ERROR;
	}
	return r;
}

static ssize_t read_reply(void *cls, uint64_t at, char *out, size_t max)
{
	struct httpd_request *request = cls;
	size_t left = request->reply_len - (size_t)at;
	size_t len = left < max ? left : max;
	const void *bytes = request->fixed.bytes;

	note_progress(request, false);
	memcpy(out, (const char *)(bytes == NULL ? request->reply : bytes) + at,
		len);
	return (ssize_t)len;
}

/* Sets what compresses the response. False: nothing does. */
static bool begin_gzip(struct httpd_request *request)
{
	struct stream *stream = &request->stream;

	if (request->fixed.status != 0 ||
		(!request->is_streamed && request->reply_len <= GZIP_MIN) ||
		!accept_header_takes_gzip(
			httpd_header(request, "Accept-Encoding"))) {
		return false;
	}
	stream->gzip = httpd_gzip_new();
	if (stream->gzip != NULL && !request->is_streamed) {
		/* The reply is the only part of a stream. */
		stream->part.data = take_ptr(request->reply);
		stream->part.len = request->reply_len;
		stream->is_last = true;
	}
	return stream->gzip != NULL;
}

static struct MHD_Response *response_of(struct httpd_request *request)
{
	size_t len = request->reply_len;

	if (request->is_streamed || request->stream.gzip != NULL) {
		return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN,
			READ_BYTES, read_stream, request, NULL);
	}
	if (len > READ_BYTES || request->fixed.bytes != NULL) {
		return MHD_create_response_from_callback(len, READ_BYTES,
			read_reply, request, NULL);
	}
	return MHD_create_response_from_buffer(len, take_ptr(request->reply),
		MHD_RESPMEM_MUST_FREE);
}

static void add_headers(struct MHD_Response *response,
	const struct httpd_request *request)
{
	const struct httpd_fixed *fixed = &request->fixed;

	(void)MHD_add_response_header(response, "Content-Type", request->type);
	(void)MHD_add_response_header(response, "X-Content-Type-Options",
		"nosniff");
	if (fixed->status == 0) {
		(void)MHD_add_response_header(response, "Cache-Control",
			"no-store");
		(void)MHD_add_response_header(response, "Vary",
			"Accept-Encoding");
	} else {
		(void)MHD_add_response_header(response, "ETag", request->tag);
	}
	if (request->header_name != NULL) {
		(void)MHD_add_response_header(response, request->header_name,
			request->header_value);
	}
	for (size_t i = 0; i < fixed->header_count; i++) {
		(void)MHD_add_response_header(response, fixed->headers[i].name,
			fixed->headers[i].value);
	}
}

/* libmicrohttpd 0.9.75 ends the headers of such a response with an empty chunk,
 * which the next response on the connection would follow. */
static bool is_unsized_head(const struct httpd_request *request)
{
	return strcmp(request->method, "HEAD") == 0 &&
		(request->is_streamed || request->stream.gzip != NULL);
}

bool httpd_response_queue(struct httpd_request *request)
{
	bool is_gzip = begin_gzip(request);
	struct MHD_Response *response = response_of(request);
	enum MHD_Result r;

	clients_set(&request->httpd->clients, request->client, CLIENT_READING,
		clock_monotonic_us());
	add_headers(response, request);
	if (is_gzip) {
		(void)MHD_add_response_header(response, "Content-Encoding",
			"gzip");
	}
	if (request->status == MHD_HTTP_UNAUTHORIZED) {
		(void)MHD_add_response_header(response, "WWW-Authenticate",
			"Bearer");
	}
	if (request->status == 429) {
		(void)MHD_add_response_header(response, "Retry-After",
			retry_after_s);
	}
	if (request->is_body_left) {
		request->client->has_body_left = true;
	}
	if (request->is_body_left || is_unsized_head(request)) {
		(void)MHD_add_response_header(response, "Connection", "close");
	}
	count(&request->httpd->responses, request->status);
	r = MHD_queue_response(request->connection,
		(unsigned int)request->status, response);
	MHD_destroy_response(response);
	return r == MHD_YES;
}
