#include "kube/url_query.h"

#include "lib/buffer.h"

#include <stdbool.h>
#include <string.h>

/* Unreserved characters (RFC 3986) are not encoded. */
static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
		c == '~';
}

void url_query_add(struct buffer *out, const char *key, const char *value)
{
	bool is_first = out->data == NULL || strchr(out->data, '?') == NULL;

	if (value == NULL) {
		return;
	}
	buffer_printf(out, "%c%s=", is_first ? '?' : '&', key);
	for (; *value != '\0'; value++) {
		if (is_unreserved(*value)) {
			buffer_char(out, *value);
		} else {
			buffer_printf(out, "%%%02X", (unsigned char)*value);
		}
	}
}
