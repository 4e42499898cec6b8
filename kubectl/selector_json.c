#include "kubectl/selector_json.h"

#include "lib/buffer.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { SELECTOR_MAX = 8 << 10, PAIRS_MAX = 32 };

static bool is_key(const char *key)
{
	size_t len = strspn(key,
		"abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789-_./");

	return len > 0 && key[len] == '\0';
}

static bool has(const char *const *keys, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(keys[i], key) == 0) {
			return true;
		}
	}
	return false;
}

int selector_json(char **out, const char *text, struct error *err)
{
	scoped_buffer struct buffer json = BUFFER_MAX(SELECTOR_MAX);
	scoped_free char *copy = xstrdup(text);
	const char *keys[PAIRS_MAX];
	struct json j = json_into(&json);
	size_t count = 0;
	char *at = copy;

	json_object(&j, NULL);
	while (at != NULL) {
		char *value = strsep(&at, ",");
		const char *key = strsep(&value, "=");

		if (value == NULL || !is_key(key) ||
			(*value != '\0' && !is_key(value)) ||
			count == PAIRS_MAX || has(keys, count, key)) {
			return error_set(err, -EINVAL,
				"'%.100s' are not labels KEY=VALUE,...", text);
		}
		keys[count++] = key;
		json_string(&j, key, value);
	}
	json_object_end(&j);
	if (json.overflowed) {
		return error_set(err, -EINVAL, "the labels are too long");
	}
	*out = buffer_take(&json, NULL);
	return 0;
}
