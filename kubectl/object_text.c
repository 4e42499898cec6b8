#include "kubectl/object_text.h"

#include "kube/json_value.h"
#include "kubectl/escape.h"
#include "lib/buffer.h"
#include "lib/decimal.h"
#include "lib/memory.h"
#include "lib/utf8.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A character above ASCII that a terminal may act on, as UTF-16. */
static void put_wide(struct buffer *out, const char *at, size_t length)
{
	uint32_t c;

	if (!escape_is_hidden(&c, at, length)) {
		buffer_append(out, at, length);
	} else if (c <= 0xffff) {
		buffer_printf(out, "\\u%04x", c);
	} else {
		buffer_printf(out, "\\u%04x\\u%04x",
			0xd800 + ((c - 0x10000) >> 10),
			0xdc00 + ((c - 0x10000) & 0x3ff));
	}
}

/* A JSON string, which is a YAML string in double quotes too, if no character
 * needs two units of UTF-16. */
static void put_string(struct buffer *out, const char *text)
{
	buffer_char(out, '"');
	while (*text != '\0') {
		size_t length = utf8_length(text);

		if (length == 0) {
			(void)utf8_append(out, text);
			length = 1;
		} else if (length > 1) {
			put_wide(out, text, length);
		} else if (*text == '"' || *text == '\\') {
			buffer_printf(out, "\\%c", *text);
		} else if (*text == '\n') {
			buffer_text(out, "\\n");
		} else if ((unsigned char)*text < 0x20 || *text == 0x7f) {
			buffer_printf(out, "\\u%04x", (unsigned char)*text);
		} else {
			buffer_char(out, *text);
		}
		text += length;
	}
	buffer_char(out, '"');
}

/* The shortest digits that mean the same number. */
static void put_number(struct buffer *out, double number)
{
	char text[DECIMAL_MAX];

	if (number == trunc(number) && fabs(number) < 1e15) {
		(void)decimal_integer(text, (int64_t)number);
		buffer_text(out, text);
		return;
	}
	for (int digits = 15; digits <= DECIMAL_DIGITS_MAX; digits++) {
		(void)decimal_number(text, number, digits);
		if (strtod(text, NULL) == number) {
			break;
		}
	}
	buffer_text(out, text);
}

static void put_scalar(struct buffer *out, const struct json_value *value)
{
	double number;

	if (json_value_text(value) != NULL) {
		put_string(out, json_value_text(value));
	} else if (json_value_number(&number, value)) {
		put_number(out, number);
	} else if (json_value_is_null(value) || value == NULL) {
		buffer_text(out, "null");
	} else {
		buffer_text(out, json_value_true(value) ? "true" : "false");
	}
}

static void indent(struct buffer *out, int width)
{
	buffer_printf(out, "%*s", width, "");
}

void object_text_json(struct buffer *out, const struct json_value *value,
	int depth)
{
	bool is_object = json_value_is_object(value);
	const struct json_value *at = json_value_first(value);

	if (!is_object && !json_value_is_array(value)) {
		put_scalar(out, value);
		return;
	}
	buffer_char(out, is_object ? '{' : '[');
	for (bool is_first = true; at != NULL;
		at = json_value_next(at), is_first = false) {
		buffer_text(out, is_first ? "\n" : ",\n");
		indent(out, 4 * (depth + 1));
		if (is_object) {
			put_string(out, json_value_key(at));
			buffer_text(out, ": ");
		}
		object_text_json(out, at, depth + 1);
	}
	if (json_value_first(value) != NULL) {
		buffer_char(out, '\n');
		indent(out, 4 * depth);
	}
	buffer_char(out, is_object ? '}' : ']');
}

/* A word that no reader of YAML takes for anything but a string. */
static bool is_plain(const char *text)
{
	static const char *const others[] = { "true", "false", "null", "yes",
		"no", "on", "off", "y", "n" };

	if (!isalpha((unsigned char)*text)) {
		return false;
	}
	for (const char *at = text; *at != '\0'; at++) {
		if (!isalnum((unsigned char)*at) &&
			strchr("._/-", *at) == NULL) {
			return false;
		}
	}
	for (size_t i = 0; i < count_of(others); i++) {
		if (strcasecmp(text, others[i]) == 0) {
			return false;
		}
	}
	return true;
}

static void put_yaml_scalar(struct buffer *out, const struct json_value *value)
{
	const char *text = json_value_text(value);

	if (text != NULL && is_plain(text)) {
		buffer_text(out, text);
	} else if (json_value_is_object(value)) {
		buffer_text(out, "{}");
	} else if (json_value_is_array(value)) {
		buffer_text(out, "[]");
	} else {
		put_scalar(out, value);
	}
}

static void put_key(struct buffer *out, const char *key)
{
	if (is_plain(key)) {
		buffer_text(out, key);
	} else {
		put_string(out, key);
	}
	buffer_char(out, ':');
}

void object_text_yaml(struct buffer *out, const struct json_value *value,
	int depth)
{
	bool is_object = json_value_is_object(value);
	const struct json_value *at = json_value_first(value);

	if (at == NULL) {
		put_yaml_scalar(out, value);
		buffer_char(out, '\n');
		return;
	}
	for (bool is_first = true; at != NULL;
		at = json_value_next(at), is_first = false) {
		bool is_list =
			json_value_is_array(at) && json_value_first(at) != NULL;
		bool is_map = json_value_is_object(at) &&
			json_value_first(at) != NULL;

		indent(out, is_first ? 0 : 2 * depth);
		if (!is_object) {
			buffer_text(out, "- ");
			object_text_yaml(out, at, depth + 1);
			continue;
		}
		put_key(out, json_value_key(at));
		buffer_char(out, is_list || is_map ? '\n' : ' ');
		/* kubectl does not indent a list below its key. */
		indent(out, is_list ? 2 * depth : is_map ? 2 * depth + 2 : 0);
		object_text_yaml(out, at, is_list ? depth : depth + 1);
	}
}
