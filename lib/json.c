#include "lib/json.h"

#include "lib/decimal.h"
#include "lib/utf8.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct json json_into(struct buffer *out)
{
	return (struct json){ .out = out };
}

/* The length of the prefix that needs no escapes: usually the whole text. */
static size_t plain_length(const char *text)
{
	size_t len = 0;

	while (text[len] >= 0x20 && text[len] < 0x7f && text[len] != '"' &&
		text[len] != '\\') {
		len++;
	}
	return len;
}

static void append_plain(struct buffer *out, const char **text)
{
	size_t len = plain_length(*text);

	buffer_append(out, *text, len);
	*text += len;
}

static void append_escaped(struct buffer *out, const char *text)
{
	buffer_char(out, '"');
	append_plain(out, &text);
	while (*text != '\0') {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\') {
			buffer_char(out, '\\');
		}
		if (c >= 0x20) {
			text += utf8_append(out, text);
			continue;
		}
		if (c == '\n') {
			buffer_text(out, "\\n");
		} else {
			buffer_printf(out, "\\u%04x", c);
		}
		text++;
	}
	buffer_char(out, '"');
}

/* Writes everything before a value: the comma, and the key if there is one. */
static void begin(struct json *j, const char *key)
{
	if (j->filled[j->depth]) {
		buffer_char(j->out, ',');
	}
	j->filled[j->depth] = true;
	if (key != NULL) {
		append_escaped(j->out, key);
		buffer_char(j->out, ':');
	}
}

static void open(struct json *j, const char *key, char bracket)
{
	begin(j, key);
	buffer_char(j->out, bracket);
	j->depth++;
	assert(j->depth < JSON_DEPTH_MAX);
	j->filled[j->depth] = false;
}

static void close(struct json *j, char bracket)
{
	assert(j->depth > 0);
	j->depth--;
	buffer_char(j->out, bracket);
}

void json_object(struct json *j, const char *key)
{
	open(j, key, '{');
}

void json_object_end(struct json *j)
{
	close(j, '}');
}

void json_array(struct json *j, const char *key)
{
	open(j, key, '[');
}

void json_array_end(struct json *j)
{
	close(j, ']');
}

void json_string(struct json *j, const char *key, const char *text)
{
	begin(j, key);
	append_escaped(j->out, text);
}

void json_integer(struct json *j, const char *key, int64_t value)
{
	char text[DECIMAL_MAX];

	begin(j, key);
	buffer_append(j->out, text, decimal_integer(text, value));
}

void json_unsigned(struct json *j, const char *key, uint64_t value)
{
	char text[DECIMAL_MAX];

	begin(j, key);
	buffer_append(j->out, text, decimal_unsigned(text, value));
}

void json_seconds(struct json *j, const char *key, uint64_t us)
{
	char text[DECIMAL_MAX];

	begin(j, key);
	buffer_append(j->out, text, decimal_seconds(text, us));
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	buffer_text(j->out, value ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	begin(j, key);
	buffer_text(j->out, "null");
}

void json_number(struct json *j, const char *key, double value)
{
	char text[DECIMAL_MAX];

	if (!isfinite(value)) {
		return;
	}
	begin(j, key);
	buffer_append(j->out, text, decimal_figure(text, value));
}

void json_number_or_null(struct json *j, const char *key, double value)
{
	if (isfinite(value)) {
		json_number(j, key, value);
	} else {
		json_null(j, key);
	}
}

void json_raw(struct json *j, const char *key, const char *text)
{
	begin(j, key);
	buffer_text(j->out, text);
}
