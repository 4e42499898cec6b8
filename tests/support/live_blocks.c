#include "tests/support/live_blocks.h"

#include <stdarg.h>

static size_t live;

size_t live_blocks(void)
{
	return live;
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__real_strndup(const char *text, size_t max);
char *__wrap_strndup(const char *text, size_t max);
int __real_vasprintf(char **out, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
int __wrap_vasprintf(char **out, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
int __real___vasprintf_chk(char **out, int flag, const char *format,
	va_list args) __attribute__((format(printf, 3, 0)));
int __wrap___vasprintf_chk(char **out, int flag, const char *format,
	va_list args) __attribute__((format(printf, 3, 0)));
void __real_free(void *block);
void __wrap_free(void *block);

void *__wrap_calloc(size_t count, size_t size)
{
	live++;
	return __real_calloc(count, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	live += old == NULL;
	return __real_reallocarray(old, count, size);
}

char *__wrap_strdup(const char *text)
{
	live++;
	return __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t max)
{
	live++;
	return __real_strndup(text, max);
}

int __wrap_vasprintf(char **out, const char *format, va_list args)
{
	live++;
	return __real_vasprintf(out, format, args);
}

/* The same in release builds. */
int __wrap___vasprintf_chk(char **out, int flag, const char *format,
	va_list args)
{
	live++;
	return __real___vasprintf_chk(out, flag, format, args);
}

void __wrap_free(void *block)
{
	live -= block != NULL;
	__real_free(block);
}
