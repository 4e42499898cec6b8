#include "aggregator/series/label_flags.h"

#include "lib/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { BYTES_MAX = 1024 }; /* of all labels, which each series has */

bool label_flags_is_value(const char *text)
{
	while (*text != '\0') {
		size_t len = utf8_length(text);

		if (len == 0) {
			return false;
		}
		text += len;
	}
	return true;
}

/* Prometheus' data model; names with __ are reserved. */
static bool is_label_name(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '_' && !isalpha((unsigned char)text[i]) &&
			(i == 0 || !isdigit((unsigned char)text[i]))) {
			return false;
		}
	}
	return len > 0 && strncmp(text, "__", 2) != 0;
}

static int check_label(const char *label, const char *flag, struct error *err)
{
	const char *equals = strchr(label, '=');

	if (equals == NULL || equals[1] == '\0' ||
		!label_flags_is_value(equals) ||
		!is_label_name(label, (size_t)(equals - label))) {
		return error_set(err, -EINVAL, "--%s: '%s' is not NAME=VALUE",
			flag, label);
	}
	return 0;
}

int label_flags_check(const struct option_list *labels, const char *flag,
	struct error *err)
{
	size_t bytes = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < labels->count; i++) {
		bytes += strlen(labels->items[i]);
		r = check_label(labels->items[i], flag, err);
	}
	return r == 0 && bytes > BYTES_MAX
		? error_set(err, -EINVAL,
			  "--%s: all labels together have more than %d bytes",
			  flag, BYTES_MAX)
		: r;
}
