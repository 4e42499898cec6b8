#include "kubectl/escape.h"

#include "lib/buffer.h"
#include "lib/memory.h"
#include "lib/utf8.h"

#include <string.h>

struct range {
	uint32_t first, last;
};

/* Characters that act on a terminal or separate lines, and the marks of
 * annotations, which are invisible as well. */
static const struct range controls[] = {
	{ 0x00, 0x1f },
	{ 0x7f, 0x9f },
	{ 0x2028, 0x2029 },
	{ 0xfff9, 0xfffb },
};

/* Unicode's property Default_Ignorable_Code_Point: what no font shows. It
 * includes all of Bidi_Control. Source: DerivedCoreProperties.txt of Unicode
 * 14.0.0, 4,174 code points. */
static const struct range ignorable[] = {
	{ 0xad, 0xad },
	{ 0x34f, 0x34f },
	{ 0x61c, 0x61c },
	{ 0x115f, 0x1160 },
	{ 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },
	{ 0x200b, 0x200f },
	{ 0x202a, 0x202e },
	{ 0x2060, 0x206f },
	{ 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f },
	{ 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 },
	{ 0xfff0, 0xfff8 },
	{ 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a },
	{ 0xe0000, 0xe0fff },
};

static bool is_in(uint32_t c, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (c >= ranges[i].first && c <= ranges[i].last) {
			return true;
		}
	}
	return false;
}

bool escape_is_hidden(uint32_t *c, const char *text, size_t length)
{
	static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };

	*c = (unsigned char)text[0] & masks[length];
	for (size_t i = 1; i < length; i++) {
		*c = *c << 6 | ((unsigned char)text[i] & 0x3fU);
	}
	return is_in(*c, controls, count_of(controls)) ||
		is_in(*c, ignorable, count_of(ignorable));
}

static void append_escape(struct buffer *out, uint32_t c)
{
	if (c == '\n') {
		buffer_text(out, "\\n");
	} else if (c == '\t') {
		buffer_text(out, "\\t");
	} else if (c < 0x80) {
		buffer_printf(out, "\\x%02x", c);
	} else if (c <= 0xffff) {
		buffer_printf(out, "\\u%04x", c);
	} else {
		buffer_printf(out, "\\U%08x", c);
	}
}

static void append(struct buffer *out, const char *text, size_t len,
	bool has_lines)
{
	for (const char *end = text + len; text < end;) {
		size_t length = utf8_length(text);
		uint32_t c;

		if (length == 0) {
			buffer_printf(out, "\\x%02x", (unsigned char)*text);
			length = 1;
		} else if (escape_is_hidden(&c, text, length) &&
			!(has_lines && (c == '\n' || c == '\t'))) {
			append_escape(out, c);
		} else {
			buffer_append(out, text, length);
		}
		text += length;
	}
}

void escape_text(struct buffer *out, const char *text)
{
	append(out, text, strlen(text), false);
}

void escape_lines(struct buffer *out, const char *lines, size_t len)
{
	append(out, lines, len, true);
}

char *escape_copy(const char *text)
{
	/* A byte becomes at most four, a character of four bytes ten. */
	struct buffer out = BUFFER_MAX(4UL * ESCAPE_TEXT_MAX);
	scoped_free char *part =
		xstrndup(text == NULL ? "" : text, ESCAPE_TEXT_MAX);
	char *copy;

	escape_text(&out, part);
	copy = buffer_take(&out, NULL);
	buffer_fini(&out);
	return copy;
}
