#include "lib/base64.h"

#include "lib/memory.h"

#include <stdint.h>
#include <string.h>

static const char digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	"abcdefghijklmnopqrstuvwxyz0123456789+/";

/* Up to three bytes as four digits. */
static void put_quantum(char out[4], const char *bytes, size_t len)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < 3; i++) {
		bits = bits << 8 | (i < len ? (unsigned char)bytes[i] : 0U);
	}
	memset(out, '=', 4);
	for (size_t i = 0; i <= len; i++) {
		out[i] = digits[bits >> (18 - 6 * i) & 63];
	}
}

char *base64_encode(const char *bytes, size_t len)
{
	char *out = xcalloc(len / 3 * 4 + 5, 1);

	for (size_t i = 0; i < len; i += 3) {
		put_quantum(out + i / 3 * 4, bytes + i,
			len - i < 3 ? len - i : 3);
	}
	return out;
}

/* The value of a base64 digit, or -1. */
static int digit_of(char c)
{
	const char *at = c != '\0' ? strchr(digits, c) : NULL;

	return at != NULL ? (int)(at - digits) : -1;
}

char *base64_decode_text(const char *text)
{
	scoped_free char *out = xcalloc(strlen(text) / 4 * 3 + 4, 1);
	size_t len = 0;
	unsigned bits = 0;
	unsigned held = 0;

	for (; *text != '\0' && *text != '='; text++) {
		int digit = digit_of(*text);

		if (digit < 0 && strchr(" \t\r\n", *text) == NULL) {
			return NULL;
		}
		if (digit < 0) {
			continue;
		}
		bits = (bits << 6 | (unsigned)digit) & 0xffff;
		held += 6;
		if (held >= 8) {
			held -= 8;
			out[len++] = (char)(bits >> held & 0xff);
		}
	}
	text += strspn(text, "= \t\r\n");
	/* Fewer bits than a digit may remain, and a PEM holds no NUL. */
	if (*text != '\0' || held >= 6 || len == 0 || strlen(out) != len) {
		explicit_bzero(out, len);
		return NULL;
	}
	return take_ptr(out);
}
