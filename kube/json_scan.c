#include "kube/json_scan.h"

#include "kube/json_value.h"
#include "lib/buffer.h"

#include <string.h>

void scan_blank(struct scan *s)
{
	while (s->at < s->end &&
		(*s->at == ' ' || *s->at == '\n' || *s->at == '\r' ||
			*s->at == '\t')) {
		s->at++;
	}
}

/* Passes c if it comes next, after blanks. */
bool scan_char(struct scan *s, char c)
{
	scan_blank(s);
	if (s->at < s->end && *s->at == c) {
		s->at++;
		return true;
	}
	return false;
}

/* Passes a string whose opening quote was passed. */
static bool skip_string(struct scan *s)
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

/* Passes an object or array whose opening bracket was passed. */
static bool skip_container(struct scan *s)
{
	size_t depth = 1;

	while (s->at < s->end && depth > 0) {
		char c = *s->at++;

		if (c == '"' && !skip_string(s)) {
			return false;
		}
		if (c == '{' || c == '[') {
			depth++;
		}
		if (c == '}' || c == ']') {
			depth--;
		}
	}
	return depth == 0;
}

static bool skip_scalar(struct scan *s)
{
	const char *start = s->at;

	while (s->at < s->end && strchr(",]} \t\r\n", *s->at) == NULL) {
		s->at++;
	}
	return s->at > start;
}

bool scan_value(struct scan *s, struct slice *out)
{
	bool ok;

	scan_blank(s);
	out->text = s->at;
	if (scan_char(s, '"')) {
		ok = skip_string(s);
	} else if (scan_char(s, '{') || scan_char(s, '[')) {
		ok = skip_container(s);
	} else {
		ok = skip_scalar(s);
	}
	out->len = (size_t)(s->at - out->text);
	return ok;
}

/* ---- without managedFields ---- */

/* As Go's encoder writes it; another spelling of it is read like the rest. */
static const char key[] = "\"managedFields\":[";

/* Where the next member of that name begins, comma included, or NULL. Within a
 * string its quotes would have backslashes before them, so what begins after a
 * bracket or a comma is a member. */
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

/* Appends the text without such members, or nothing if there are none to leave
 * out. What does not end is left as it is, for the parser to say so. */
static void append_rest(struct buffer *out, const char *text, size_t len)
{
	struct scan s = { .at = text, .end = text + len };
	const char *kept = text; /* up to here it is appended, or left out */
	const char *member;
	struct slice slice;

	while ((member = find_member(s.at, s.end)) != NULL) {
		s.at = member + sizeof(key) - 2;
		if (!scan_value(&s, &slice) || s.at == s.end) {
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

int scan_parse(struct value **out, const char *text, size_t len,
	struct error *err)
{
	scoped_buffer struct buffer rest = BUFFER_MAX(len);

	append_rest(&rest, text, len);
	if (rest.len == 0) {
		return value_parse(out, text, len, err);
	}
	return value_parse(out, rest.data, rest.len, err);
}
