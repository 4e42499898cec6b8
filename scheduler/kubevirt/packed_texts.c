#include "scheduler/kubevirt/packed_texts.h"

#include "lib/memory.h"

#include <stdbool.h>
#include <string.h>

enum { CHARACTER_MAX = 4 }; /* bytes, in UTF-8 */

/* The byte continues a character. */
static bool is_inside(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t cut_length(const char *text)
{
	size_t len = strnlen(text, PACKED_TEXT_MAX);

	if (text[len] == '\0') {
		return len;
	}
	for (int i = 0; i < CHARACTER_MAX - 1 && is_inside(text[len]); i++) {
		len--;
	}
	return len;
}

void *packed_texts_new(const void *head, size_t size,
	const struct packed_text *texts, size_t count)
{
	size_t total = size;
	char *out, *at;

	for (size_t i = 0; i < count; i++) {
		total += cut_length(texts[i].text) + 1;
	}
	out = xcalloc(1, total);
	(void)memcpy(out, head, size);
	at = out + size;
	for (size_t i = 0; i < count; i++) {
		size_t len = cut_length(texts[i].text);

		(void)memcpy(at, texts[i].text, len);
		(void)memcpy(out + texts[i].offset, &at, sizeof(at));
		at += len + 1;
	}
	return out;
}
