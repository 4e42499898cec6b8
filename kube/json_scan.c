#include "kube/json_scan.h"

#include "kube/json_value.h"
#include "lib/buffer.h"

#include <stdint.h>
#include <string.h>

void json_scan_blank(struct json_scan *s)
{
	while (s->at < s->end &&
		(*s->at == ' ' || *s->at == '\n' || *s->at == '\r' ||
			*s->at == '\t')) {
		s->at++;
	}
}

bool json_scan_char(struct json_scan *s, char c)
{
	json_scan_blank(s);
	if (s->at < s->end && *s->at == c) {
		s->at++;
		return true;
	}
	return false;
}

/* Skips a string after its opening quote. */
static bool skip_string(struct json_scan *s)
{
	while (s->at < s->end) {
		char c = *s->at++;

		if (c == '"') {
			return true;
		}
		if (c == '\\' && s->at < s->end) {
			s->at++;
		}
	}
	return false;
}

/* Skips an object or array after its opening bracket. */
static bool skip_container(struct json_scan *s)
{
	uint64_t arrays = s->at[-1] == '['; /* a bit each, innermost lowest */
	size_t depth = 1;

	while (s->at < s->end && depth > 0) {
		char c = *s->at++;

		if (c == '"' && !skip_string(s)) {
			return false;
		}
		if (c == '{' || c == '[') {
			depth++;
			arrays = arrays << 1 | (c == '[');
		}
		if (s->depth_max > 0 &&
			(depth > s->depth_max ||
				(c == ((arrays & 1) != 0 ? '}' : ']')))) {
			return false;
		}
		if (c == '}' || c == ']') {
			depth--;
			arrays >>= 1;
		}
	}
	return depth == 0;
}

static bool skip_scalar(struct json_scan *s)
{
	const char *start = s->at;

	while (s->at < s->end && strchr(",]}: \t\r\n\"[{", *s->at) == NULL) {
		s->at++;
	}
	return s->at > start;
}

bool json_scan_value(struct json_scan *s, struct json_slice *out)
{
	bool ok;

	json_scan_blank(s);
	out->text = s->at;
	if (json_scan_char(s, '"')) {
		ok = skip_string(s);
	} else if (json_scan_char(s, '{') || json_scan_char(s, '[')) {
		ok = skip_container(s);
	} else {
		ok = skip_scalar(s);
	}
	out->len = (size_t)(s->at - out->text);
	return ok;
}

/* ---- without managedFields ---- */

/* As written by Go's encoder; any other spelling is parsed like other
 * members. */
static const char key[] = "\"managedFields\":[";

/* Returns the start of the next managedFields member, or NULL. Inside a string
 * its quotes would be escaped, so a match after a bracket or comma is a
 * member. */
static const char *find_member(const char *from, const char *end)
{
	const char *at = from;

	while ((at = memmem(at, (size_t)(end - at), key, sizeof(key) - 1)) !=
		NULL) {
		if (at > from && (at[-1] == ',' || at[-1] == '{')) {
			return at;
		}
		at++;
	}
	return NULL;
}

/* Appends the text without managedFields, or nothing if there are none. An
 * incomplete value is left in, so that the parser reports it. */
static void append_rest(struct buffer *out, const char *text, size_t len)
{
	struct json_scan s = { .at = text, .end = text + len };
	const char *kept = text; /* the text before it is done */
	const char *member;
	struct json_slice slice;

	while ((member = find_member(s.at, s.end)) != NULL) {
		s.at = member + sizeof(key) - 2;
		if (!json_scan_value(&s, &slice) || s.at == s.end) {
			break;
		}
		if (*s.at == ',') {
			s.at++;
		} else if (*s.at != '}') {
			continue;
		} else if (member[-1] == ',') {
			member--;
		}
		buffer_append(out, kept, (size_t)(member - kept));
		kept = s.at;
	}
	if (kept > text) {
		buffer_append(out, kept, (size_t)(text + len - kept));
	}
}

int json_scan_parse_object(struct json_value **out, const char *text,
	size_t len, struct error *err)
{
	scoped_buffer struct buffer rest = BUFFER_MAX(len);

	append_rest(&rest, text, len);
	if (rest.len == 0) {
		return json_value_parse(out, text, len, err);
	}
	return json_value_parse(out, rest.data, rest.len, err);
}
