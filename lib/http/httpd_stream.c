#include "lib/http/httpd_stream.h"

#include <string.h>

#include "lib/memory.h"

void stream_init(struct stream *stream, const struct httpd_stream *source)
{
	*stream = (struct stream){
		.source = *source,
		.part = BUFFER_MAX(HTTPD_PART_MAX),
	};
}

bool stream_fill(struct stream *stream)
{
	buffer_clear(&stream->part);
	stream->at = 0;
	stream->is_last =
		!stream->source.next(stream->source.owner, &stream->part);
	/* A truncated part would be a wrong response that looks right. */
	if (stream->part.overflowed) {
		stream->is_aborted = true;
	}
	return stream->part.len > 0 || stream->is_last || stream->is_aborted;
}

static ssize_t read_gzip(struct stream *stream, char *out, size_t max)
{
	struct httpd_gzip_text text = {
		.at = stream->part.data + stream->at,
		.len = stream->part.len - stream->at,
		.is_last = stream->is_last,
	};
	size_t len = httpd_gzip_write(stream->gzip, &text, out, max);

	stream->at = stream->part.len - text.len;
	if (len > 0) {
		return (ssize_t)len;
	}
	return stream->is_last ? STREAM_ENDED : STREAM_WANTS_PART;
}

ssize_t stream_read(struct stream *stream, char *out, size_t max)
{
	size_t left = stream->part.len - stream->at;
	size_t len = left < max ? left : max;

	if (stream->is_aborted) {
		return STREAM_BROKEN;
	}
	if (stream->gzip != NULL) {
		return read_gzip(stream, out, max);
	}
	if (len == 0) {
		return stream->is_last ? STREAM_ENDED : STREAM_WANTS_PART;
	}
	memcpy(out, stream->part.data + stream->at, len);
	stream->at += len;
	return (ssize_t)len;
}

void stream_fini(struct stream *stream)
{
	stream->source.done(stream->source.owner);
	buffer_fini(&stream->part);
	httpd_gzip_free(take_ptr(stream->gzip));
}
