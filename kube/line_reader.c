#include "kube/line_reader.h"

#include <errno.h>
#include <string.h>

void line_reader_init(struct line_reader *reader, size_t max)
{
	*reader =
		(struct line_reader){ .partial = BUFFER_MAX(max), .max = max };
}

void line_reader_fini(struct line_reader *reader)
{
	buffer_fini(&reader->partial);
}

static int too_long(const struct line_reader *reader, struct error *err)
{
	return error_set(err, -EMSGSIZE, "a line is longer than %zu bytes",
		reader->max);
}

/* Delivers the line that ends after len more bytes. False: stopped, and the
 * reader may be freed. */
static bool deliver(struct line_reader *reader, const char *bytes, size_t len,
	line_reader_each each, void *owner)
{
	struct buffer whole = reader->partial;
	bool continues;

	if (whole.len == 0) {
		return len == 0 || each(owner, bytes, len);
	}
	/* Take the memory out first, because each may free the reader. */
	reader->partial = BUFFER_MAX(reader->max);
	buffer_append(&whole, bytes, len);
	continues = each(owner, whole.data, whole.len);
	buffer_fini(&whole);
	return continues;
}

int line_reader_feed(struct line_reader *reader, const char *bytes, size_t len,
	line_reader_each each, void *owner, struct error *err)
{
	while (len > 0) {
		const char *newline = memchr(bytes, '\n', len);
		size_t more = newline != NULL ? (size_t)(newline - bytes) : len;

		if (more > reader->max - reader->partial.len) {
			return too_long(reader, err);
		}
		if (newline == NULL) {
			buffer_append(&reader->partial, bytes, more);
			return 0;
		}
		if (!deliver(reader, bytes, more, each, owner)) {
			return 0;
		}
		bytes += more + 1;
		len -= more + 1;
	}
	return 0;
}
