#include "kube/label_syntax.h"

#include <stddef.h>
#include <string.h>

enum { NAME_MAX_BYTES = 63, SUBDOMAIN_MAX_BYTES = 253 };

static bool is_lower(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alphanumeric(char c)
{
	return is_lower(c) || (c >= 'A' && c <= 'Z');
}

/* Begins and ends with a letter or digit. */
static bool is_name(const char *text, size_t len)
{
	if (len == 0 || len > NAME_MAX_BYTES || !is_alphanumeric(text[0]) ||
		!is_alphanumeric(text[len - 1])) {
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		if (!is_alphanumeric(text[i]) && text[i] != '-' &&
			text[i] != '_' && text[i] != '.') {
			return false;
		}
	}
	return true;
}

static bool is_dns_part(const char *text, size_t len)
{
	if (len == 0 || !is_lower(text[0]) || !is_lower(text[len - 1])) {
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		if (!is_lower(text[i]) && text[i] != '-') {
			return false;
		}
	}
	return true;
}

static bool is_subdomain(const char *text, size_t len)
{
	size_t from = 0;

	if (len > SUBDOMAIN_MAX_BYTES) {
		return false;
	}
	for (size_t i = 0; i <= len; i++) {
		if (i < len && text[i] != '.') {
			continue;
		}
		if (!is_dns_part(text + from, i - from)) {
			return false;
		}
		from = i + 1;
	}
	return true;
}

bool label_syntax_is_key(const char *text)
{
	const char *slash = strchr(text, '/');

	if (slash == NULL) {
		return is_name(text, strlen(text));
	}
	return is_subdomain(text, (size_t)(slash - text)) &&
		is_name(slash + 1, strlen(slash + 1));
}

bool label_syntax_is_value(const char *text)
{
	return *text == '\0' || is_name(text, strlen(text));
}

bool label_syntax_is_dns_label(const char *text)
{
	size_t len = strlen(text);

	return len <= NAME_MAX_BYTES && is_dns_part(text, len);
}

bool label_syntax_is_dns_subdomain(const char *text)
{
	return is_subdomain(text, strlen(text));
}
