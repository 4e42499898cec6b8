/* Carries a streamed response through the HTTP server, one part at a time.
 *
 * The source makes parts on the loop thread, and the server's thread reads
 * them. The connection is suspended while the loop thread uses the stream, so
 * there is only one part in memory and no lock. */
#pragma once

#include "lib/buffer.h"
#include "lib/http/httpd.h"
#include "lib/http/httpd_gzip.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct stream {
	struct httpd_stream source;
	struct buffer part;
	size_t at;		 /* bytes of the part that have been read */
	bool is_last;		 /* no part follows */
	bool is_aborted;	 /* the rest of the part must not be read */
	struct httpd_gzip *gzip; /* owned; NULL: it is read as it is */
};

enum { STREAM_WANTS_PART = 0, STREAM_ENDED = -1, STREAM_BROKEN = -2 };

void stream_init(struct stream *stream, const struct httpd_stream *source);

/* Asks the source once for its next part. False: it has none yet. */
bool stream_fill(struct stream *stream);

/* Returns the number of bytes written to out, at most max, or one of the
 * constants above. */
ssize_t stream_read(struct stream *stream, char *out, size_t max);

/* Calls the source's done(). */
void stream_fini(struct stream *stream);
