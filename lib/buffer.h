/* Growing bytes with a hard maximum.
 *
 * The maximum is set once; what would go beyond it is dropped whole and the
 * overflow sticks, so a writer appends without checks and asks at the end.
 * The bytes are always followed by a NUL that is not counted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buffer {
	char *data; /* NULL while empty; NUL-terminated otherwise */
	size_t len;
	size_t capacity;
	size_t max; /* bytes that len never exceeds */
	bool overflowed;
};

#define BUFFER_MAX(bytes)                                                      \
	(struct buffer)                                                        \
	{                                                                      \
		.max = (bytes)                                                 \
	}

void buffer_fini(struct buffer *b); /* NULL and zeroed are fine */

/* Forgets the content and the overflow, keeps the memory. */
void buffer_clear(struct buffer *b);

void buffer_append(struct buffer *b, const void *bytes, size_t len);
void buffer_text(struct buffer *b, const char *text);
void buffer_char(struct buffer *b, char c);
void buffer_printf(struct buffer *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Room for len more bytes at the end, for who writes them there and then says
 * with buffer_extend() how many they are. NULL: they do not fit. */
char *buffer_room(struct buffer *b, size_t len);
void buffer_extend(struct buffer *b, size_t len);

/* Removes the first len bytes; len is at most b->len. */
void buffer_consume(struct buffer *b, size_t len);

/* Gives the bytes away ("" rather than NULL) and leaves the buffer empty. The
 * caller frees them. */
char *buffer_take(struct buffer *b, size_t *len);

#define scoped_buffer __attribute__((cleanup(buffer_fini)))
