#include "lib/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void set(struct error *err, int code, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

static void set(struct error *err, int code, const char *format, va_list args)
{
	if (err != NULL) {
		err->code = code;
		(void)vsnprintf(err->text, sizeof(err->text), format, args);
	}
}

static void append_cause(struct error *err, const char *cause)
{
	if (err != NULL) {
		size_t len = strlen(err->text);

		(void)snprintf(err->text + len, sizeof(err->text) - len, ": %s",
			cause);
	}
}

int error_set(struct error *err, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set(err, code, format, args);
	va_end(args);
	return code;
}

int error_errno(struct error *err, const char *format, ...)
{
	int code = errno > 0 ? -errno : -EIO;
	va_list args;

	va_start(args, format);
	set(err, code, format, args);
	va_end(args);
	append_cause(err, strerror(-code));
	return code;
}

int error_wrap(struct error *err, int code, const char *format, ...)
{
	struct error cause = { .text = "" };
	va_list args;

	if (err != NULL) {
		cause = *err;
	}
	va_start(args, format);
	set(err, code, format, args);
	va_end(args);
	append_cause(err, cause.text);
	return code;
}
