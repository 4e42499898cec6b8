/* A growing byte buffer with a hard maximum.
 *
 * The maximum is set once. An append that would exceed it adds nothing and sets
 * overflowed, which stays set, so a writer appends without checks and tests the
 * flag at the end. The bytes are always followed by a NUL that is not
 * counted.
 *
 * A secret buffer overwrites bytes before it frees them or moves them. Bytes
 * that buffer_take() returned belong to the caller, as all others do that the
 * caller copied. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buffer {
	char *data; /* NULL while empty; NUL-terminated otherwise */
	size_t len;
	size_t capacity;
	size_t max; /* len never exceeds this */
	bool overflowed;
	bool is_secret; /* set once, as max */
};

#define BUFFER_MAX(bytes)                                                      \
	(struct buffer)                                                        \
	{                                                                      \
		.max = (bytes)                                                 \
	}

#define BUFFER_SECRET(bytes)                                                   \
	(struct buffer)                                                        \
	{                                                                      \
		.max = (bytes), .is_secret = true                              \
	}

void buffer_fini(struct buffer *b); /* NULL and zeroed are fine */

/* Empties the buffer and clears overflowed. The memory is kept. */
void buffer_clear(struct buffer *b);

void buffer_append(struct buffer *b, const void *bytes, size_t len);
void buffer_text(struct buffer *b, const char *text);
void buffer_char(struct buffer *b, char c);
void buffer_printf(struct buffer *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns room for len more bytes at the end, or NULL if they do not fit. The
 * caller writes there and passes the number written to buffer_extend(). */
char *buffer_room(struct buffer *b, size_t len);
void buffer_extend(struct buffer *b, size_t len);

/* Removes the first len bytes; len is at most b->len. */
void buffer_consume(struct buffer *b, size_t len);

/* Returns the bytes ("" rather than NULL) and empties the buffer. The caller
 * frees them. */
char *buffer_take(struct buffer *b, size_t *len);

#define scoped_buffer __attribute__((cleanup(buffer_fini)))
