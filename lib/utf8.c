#include "lib/utf8.h"

#include <stdbool.h>

/* For first bytes from first to last, the second byte is within [low, high];
 * all further bytes are within [0x80, 0xbf]. */
struct form {
	unsigned char first, last;
	unsigned char low, high;
	size_t length;
};

static const struct form forms[] = {
	{ 0xc2, 0xdf, 0x80, 0xbf, 2 },
	{ 0xe0, 0xe0, 0xa0, 0xbf, 3 },
	{ 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 }, /* no surrogates */
	{ 0xee, 0xef, 0x80, 0xbf, 3 },
	{ 0xf0, 0xf0, 0x90, 0xbf, 4 },
	{ 0xf1, 0xf3, 0x80, 0xbf, 4 },
	{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

static bool is_whole(const unsigned char *at, const struct form *form)
{
	if (at[1] < form->low || at[1] > form->high) {
		return false;
	}
	for (size_t i = 2; i < form->length; i++) {
		if (at[i] < 0x80 || at[i] > 0xbf) {
			return false;
		}
	}
	return true;
}

size_t utf8_length(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	if (at[0] < 0x80) {
		return 1;
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct form *form = &forms[i];

		if (at[0] >= form->first && at[0] <= form->last) {
			return is_whole(at, form) ? form->length : 0;
		}
	}
	return 0;
}

size_t utf8_append(struct buffer *out, const char *text)
{
	size_t length = utf8_length(text);

	if (length == 0) {
		buffer_text(out, "\xef\xbf\xbd");
		return 1;
	}
	buffer_append(out, text, length);
	return length;
}
