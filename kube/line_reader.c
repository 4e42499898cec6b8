#include "kube/line_reader.h"

#include <errno.h>
#include <string.h>

void lines_init(struct lines *lines, size_t max)
{
	*lines = (struct lines){ .partial = BUFFER_MAX(max), .max = max };
}

void lines_fini(struct lines *lines)
{
	buffer_fini(&lines->partial);
}

static int too_long(const struct lines *lines, struct error *err)
{
	return error_set(err, -EMSGSIZE, "a line is longer than %zu bytes",
		lines->max);
}

/* Hands the line over that ends after len more bytes. False: it was told to
 * stop, and lines may be gone. */
static bool hand_over(struct lines *lines, const char *bytes, size_t len,
	lines_each each, void *owner)
{
	struct buffer whole = lines->partial;
	bool goes_on;

	if (whole.len == 0) {
		return len == 0 || each(owner, bytes, len);
	}
	/* The memory leaves lines, because each may free them. */
	lines->partial = BUFFER_MAX(lines->max);
	buffer_append(&whole, bytes, len);
	goes_on = each(owner, whole.data, whole.len);
	buffer_fini(&whole);
	return goes_on;
}

int lines_feed(struct lines *lines, const char *bytes, size_t len,
	lines_each each, void *owner, struct error *err)
{
	while (len > 0) {
		const char *newline = memchr(bytes, '\n', len);
		size_t more = newline != NULL ? (size_t)(newline - bytes) : len;

		if (more > lines->max - lines->partial.len) {
			return too_long(lines, err);
		}
		if (newline == NULL) {
			buffer_append(&lines->partial, bytes, more);
			return 0;
		}
		if (!hand_over(lines, bytes, more, each, owner)) {
			return 0;
		}
		bytes += more + 1;
		len -= more + 1;
	}
	return 0;
}
