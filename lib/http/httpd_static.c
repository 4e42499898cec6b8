#include "lib/http/httpd_static.h"

#include "lib/http/accept_header.h"
#include "lib/http/httpd_request.h"
#include "lib/memory.h"

#include <stdio.h>
#include <string.h>

enum { TAG_MAX = 80 };

/* Scripts of this origin alone, and no frame of another one around the page. */
#define POLICY                                                                 \
	"default-src 'self'; base-uri 'none'; form-action 'none'; "            \
	"frame-ancestors 'none'; object-src 'none'"

#define HEADERS                                                                \
	{ "Content-Security-Policy", POLICY },                                 \
		{ "Referrer-Policy", "no-referrer" },                          \
		{ "Cross-Origin-Opener-Policy", "same-origin" },               \
		{ "Cache-Control", "no-cache" },                               \
	{                                                                      \
		"Vary", "Accept-Encoding"                                      \
	}

static const struct httpd_header headers[] = {
	HEADERS,
	{ "Content-Encoding", "gzip" }, /* last: not of the plain content */
};

static const char *type_of(const char *name)
{
	static const struct {
		const char *end, *type;
	} types[] = {
		{ ".html", "text/html; charset=utf-8" },
		{ ".css", "text/css; charset=utf-8" },
		{ ".js", "text/javascript; charset=utf-8" },
		{ ".svg", "image/svg+xml" },
	};
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot != NULL && i < count_of(types); i++) {
		if (strcmp(dot, types[i].end) == 0) {
			return types[i].type;
		}
	}
	return "application/octet-stream";
}

/* By RFC 9110 13.1.2, a list of tags or an asterisk. The comparison is the weak
 * one: both contents of a file have the same tag. */
static bool is_known(const struct httpd_request *request, const char *tag)
{
	struct header_span rest =
		header_span_of(httpd_header(request, "If-None-Match"));
	struct header_span item;

	while (header_span_next(&item, &rest, ',')) {
		if (header_span_is(item, "*") || header_span_is(item, tag) ||
			header_span_is(item, tag + 2)) {
			return true;
		}
	}
	return false;
}

static const struct httpd_static_file *find(
	const struct httpd_static_file *files, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(files[i].name, name) == 0) {
			return &files[i];
		}
	}
	return NULL;
}

void httpd_static_serve(const struct httpd_static_file *files, size_t count,
	const char *name, struct httpd_request *request)
{
	const struct httpd_static_file *file = find(files, count, name);
	bool is_gzip = accept_header_takes_gzip(
		httpd_header(request, "Accept-Encoding"));
	struct httpd_fixed fixed = { .status = 200,
		.headers = headers,
		.header_count = count_of(headers) - (is_gzip ? 0 : 1) };
	char tag[TAG_MAX];

	if (file == NULL) {
		httpd_reply_error(request, 404, "the page has no file '%.200s'",
			name);
		return;
	}
	(void)snprintf(tag, sizeof(tag), "W/\"%.70s\"", file->tag);
	fixed.type = type_of(name);
	fixed.tag = tag;
	if (is_known(request, tag)) {
		fixed.status = 304;
		fixed.header_count = count_of(headers) - 1;
	} else {
		fixed.bytes = is_gzip ? file->gzip : file->bytes;
		fixed.len = is_gzip ? file->gzip_len : file->len;
	}
	httpd_request_reply_fixed(request, &fixed);
}
