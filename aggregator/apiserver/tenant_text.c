#include "aggregator/apiserver/tenant_text.h"

#include "lib/buffer.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { TEXT_MAX = 64 << 10 };

/* The bytes of names, of labels' keys and of fractions. */
static size_t word_length(const char *at)
{
	size_t len = 0;

	while (isalnum((unsigned char)at[len]) ||
		(at[len] != '\0' && strchr("-._/", at[len]) != NULL)) {
		len++;
	}
	return len;
}

/* A namespace has small letters, digits and hyphens. */
static bool is_namespace(const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!islower((unsigned char)at[i]) &&
			!isdigit((unsigned char)at[i]) && at[i] != '-') {
			return false;
		}
	}
	return len > 0;
}

static bool is_number(const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)at[i])) {
			return false;
		}
	}
	return len > 0;
}

/* "0/3" is a count, and kubevirt.io/name has no namespace's name before the
 * slash. */
static bool is_of_another(const char *at, size_t len, const char *namespace)
{
	const char *slash = memchr(at, '/', len);
	size_t before = slash == NULL ? 0 : (size_t)(slash - at);
	size_t after = slash == NULL ? 0 : len - before - 1;

	if (slash == NULL || after == 0 || !is_namespace(at, before) ||
		(is_number(at, before) && is_number(slash + 1, after))) {
		return false;
	}
	return strlen(namespace) != before ||
		strncmp(at, namespace, before) != 0;
}

char *tenant_text(const char *text, const char *namespace)
{
	struct buffer out = BUFFER_MAX(TEXT_MAX);

	for (const char *at = text; *at != '\0';) {
		size_t len = word_length(at);

		if (len == 0) {
			buffer_char(&out, *at++);
			continue;
		}
		if (is_of_another(at, len, namespace)) {
			buffer_text(&out, "a pod of another namespace");
		} else {
			buffer_append(&out, at, len);
		}
		at += len;
	}
	return buffer_take(&out, NULL);
}
