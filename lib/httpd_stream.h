/* A long answer on its way through the HTTP server, part by part.
 *
 * The source makes parts on the loop's thread, the server's thread reads them;
 * who has the stream changes hands with the connection's being suspended, so
 * there is one part in memory and no lock. */
#pragma once

#include "lib/buffer.h"
#include "lib/httpd.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct stream {
	struct http_stream source;
	struct buffer part;
	size_t at;	 /* so much of the part is read */
	bool is_last;	 /* nothing follows the part */
	bool is_aborted; /* nor is the part to be read */
};

enum { STREAM_WANTS_PART = 0, STREAM_ENDED = -1, STREAM_BROKEN = -2 };

void stream_init(struct stream *stream, const struct http_stream *source);

/* Asks the source once for its next part. False: it had none to give yet. */
bool stream_fill(struct stream *stream);

/* Bytes put into out, at most max; or one of the above. */
ssize_t stream_read(struct stream *stream, char *out, size_t max);

/* Tells the source that it is over. */
void stream_fini(struct stream *stream);
