#include "lib/http/httpd_gzip.h"

#include "lib/memory.h"

#include <stdlib.h>

/* Its input is not written to. */
#define ZLIB_CONST
#include <zlib.h>

/* zlib's words: the largest window, and a header of gzip instead of zlib's. */
enum { WINDOW_BITS = 15 + 16, MEMORY_LEVEL = 8 };

struct httpd_gzip {
	z_stream stream;
};

struct httpd_gzip *httpd_gzip_new(void)
{
	struct httpd_gzip *gzip = xcalloc(1, sizeof(*gzip));

	if (deflateInit2(&gzip->stream, HTTPD_GZIP_LEVEL, Z_DEFLATED,
		    WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return NULL;
	}
	return gzip;
}

void httpd_gzip_free(struct httpd_gzip *gzip)
{
	if (gzip != NULL) {
		(void)deflateEnd(&gzip->stream);
		free(gzip);
	}
}

size_t httpd_gzip_write(struct httpd_gzip *gzip, struct httpd_gzip_text *text,
	char *out, size_t max)
{
	z_stream *stream = &gzip->stream;

	stream->next_in = (const Bytef *)text->at;
	stream->avail_in = (unsigned)text->len;
	stream->next_out = (Bytef *)out;
	stream->avail_out = (unsigned)max;
	(void)deflate(stream, text->is_last ? Z_FINISH : Z_NO_FLUSH);
	text->at += text->len - stream->avail_in;
	text->len = stream->avail_in;
	return max - stream->avail_out;
}

const char *httpd_gzip_library_version(void)
{
	return zlibVersion();
}
