#include "lib/buffer.h"

#include "lib/memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Does nothing unless the buffer is secret. Only the bytes up to len were ever
 * written. */
static void overwrite(const struct buffer *b, char *at, size_t len)
{
	if (b->is_secret && len > 0) {
		explicit_bzero(at, len);
	}
}

void buffer_fini(struct buffer *b)
{
	if (b != NULL) {
		overwrite(b, b->data, b->len);
		free(b->data);
		*b = (struct buffer){ .max = b->max,
			.is_secret = b->is_secret };
	}
}

void buffer_clear(struct buffer *b)
{
	overwrite(b, b->data, b->len);
	b->len = 0;
	b->overflowed = false;
	if (b->data != NULL) {
		b->data[0] = '\0';
	}
}

/* realloc() would free the old bytes as they are. */
static char *move_secret(struct buffer *b)
{
	char *moved = xrealloc(NULL, b->capacity, 1);

	if (b->data != NULL) {
		memcpy(moved, b->data, b->len + 1);
		explicit_bzero(b->data, b->len);
		free(b->data);
	}
	return moved;
}

/* Makes room for len more bytes and the NUL. False: that exceeds the
 * maximum. */
static bool reserve(struct buffer *b, size_t len)
{
	size_t need;

	if (b->overflowed || len > b->max - b->len) {
		b->overflowed = true;
		return false;
	}
	need = b->len + len + 1;
	if (need > b->capacity) {
		size_t twice = b->capacity * 2;

		b->capacity = need > twice ? need : twice;
		b->capacity = b->capacity < 64 ? 64 : b->capacity;
		b->data = b->is_secret ? move_secret(b)
				       : xrealloc(b->data, b->capacity, 1);
	}
	return true;
}

char *buffer_room(struct buffer *b, size_t len)
{
	return reserve(b, len) ? b->data + b->len : NULL;
}

void buffer_extend(struct buffer *b, size_t len)
{
	assert(len < b->capacity - b->len);
	b->len += len;
	b->data[b->len] = '\0';
}

void buffer_append(struct buffer *b, const void *bytes, size_t len)
{
	char *at = buffer_room(b, len);

	if (at != NULL) {
		if (len > 0) {
			memcpy(at, bytes, len);
		}
		buffer_extend(b, len);
	}
}

void buffer_text(struct buffer *b, const char *text)
{
	buffer_append(b, text, strlen(text));
}

void buffer_char(struct buffer *b, char c)
{
	buffer_append(b, &c, 1);
}

void buffer_printf(struct buffer *b, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	assert(len >= 0);
	if (!reserve(b, (size_t)len)) {
		return;
	}
	va_start(args, format);
	(void)vsnprintf(b->data + b->len, (size_t)len + 1, format, args);
	va_end(args);
	b->len += (size_t)len;
}

void buffer_consume(struct buffer *b, size_t len)
{
	assert(len <= b->len);
	if (len == 0) {
		return;
	}
	b->len -= len;
	memmove(b->data, b->data + len, b->len);
	overwrite(b, b->data + b->len, len);
	b->data[b->len] = '\0';
}

char *buffer_take(struct buffer *b, size_t *len)
{
	if (len != NULL) {
		*len = b->len;
	}
	if (b->data == NULL) {
		return xstrdup("");
	}
	b->len = 0;
	b->capacity = 0;
	return take_ptr(b->data);
}
