#include "lib/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void set_text(struct error *err, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

static void set_text(struct error *err, const char *format, va_list args)
{
	(void)vsnprintf(err->text, sizeof(err->text), format, args);
}

int error_set(struct error *err, int code, const char *format, ...)
{
	va_list args;

	if (err == NULL) {
		return code;
	}
	err->code = code;
	va_start(args, format);
	set_text(err, format, args);
	va_end(args);
	return code;
}

int error_errno(struct error *err, const char *format, ...)
{
	int code = errno > 0 ? -errno : -EIO;
	va_list args;
	size_t len;

	if (err == NULL) {
		return code;
	}
	err->code = code;
	va_start(args, format);
	set_text(err, format, args);
	va_end(args);
	len = strlen(err->text);
	(void)snprintf(err->text + len, sizeof(err->text) - len, ": %s",
		strerror(-code));
	return code;
}

int error_wrap(struct error *err, int code, const char *format, ...)
{
	char cause[sizeof(err->text)];
	va_list args;
	size_t len;

	if (err == NULL) {
		return code;
	}
	memcpy(cause, err->text, sizeof(cause));
	err->code = code;
	va_start(args, format);
	set_text(err, format, args);
	va_end(args);
	len = strlen(err->text);
	(void)snprintf(err->text + len, sizeof(err->text) - len, ": %s", cause);
	return code;
}
