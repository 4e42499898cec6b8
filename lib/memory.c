#include "lib/memory.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *checked(void *pointer)
{
	if (pointer == NULL) {
		(void)fputs("out of memory\n", stderr);
		abort();
	}
	return pointer;
}

void *xcalloc(size_t count, size_t size)
{
	/* A size of 0 may give NULL, which would look like a failure. */
	return checked(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *xrealloc(void *old, size_t count, size_t size)
{
	if (count == 0) {
		count = 1;
	}
	return checked(reallocarray(old, count, size));
}

char *xstrdup(const char *text)
{
	return checked(strdup(text));
}

char *xstrndup(const char *text, size_t max)
{
	return checked(strndup(text, max));
}

void *xmemdup(const void *bytes, size_t size)
{
	void *copy = xrealloc(NULL, 1, size > 0 ? size : 1);

	if (size > 0) {
		memcpy(copy, bytes, size);
	}
	return copy;
}

char *xasprintf(const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int r;

	va_start(args, format);
	r = vasprintf(&text, format, args);
	va_end(args);
	return checked(r < 0 ? NULL : text);
}

void *xgrow(void *array, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity) {
		return array;
	}
	*capacity = *capacity == 0 ? 8 : *capacity * 2;
	return xrealloc(array, *capacity, size);
}

void *xgrow_at(void *array, size_t count, size_t size)
{
	if ((count & (count - 1)) != 0) {
		return array;
	}
	return xrealloc(array, count == 0 ? 1 : count * 2, size);
}

void xreplace(char **text, const char *value)
{
	free(*text);
	*text = value == NULL ? NULL : xstrdup(value);
}

char *place_text(char **at, const char *text)
{
	char *copy = *at;

	if (text == NULL) {
		return NULL;
	}
	*at = stpcpy(copy, text) + 1;
	return copy;
}

void secret_free(char *text)
{
	if (text != NULL) {
		explicit_bzero(text, strlen(text));
	}
	free(text);
}

void scoped_free_run(void *pointer)
{
	free(*(void **)pointer);
}

void scoped_fd_run(const int *fd)
{
	if (*fd >= 0) {
		(void)close(*fd);
	}
}

void memory_return_large_blocks(void)
{
	/* glibc's first value; setting it keeps it from growing. */
	(void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
}
