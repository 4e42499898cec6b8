#include "lib/http/accept_header.h"

#include <string.h>
#include <strings.h>

struct header_span header_span_of(const char *header)
{
	return (struct header_span){ header,
		header == NULL ? 0 : strlen(header) };
}

struct header_span header_span_trim(struct header_span s)
{
	while (s.len > 0 && (*s.at == ' ' || *s.at == '\t')) {
		s.at++;
		s.len--;
	}
	while (s.len > 0 &&
		(s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t')) {
		s.len--;
	}
	return s;
}

bool header_span_is(struct header_span s, const char *text)
{
	return s.len == strlen(text) && strncasecmp(s.at, text, s.len) == 0;
}

bool header_span_next(struct header_span *out, struct header_span *rest,
	char separator)
{
	const char *end;

	if (rest->at == NULL) {
		return false;
	}
	end = memchr(rest->at, separator, rest->len);
	out->at = rest->at;
	out->len = end == NULL ? rest->len : (size_t)(end - rest->at);
	if (end == NULL) {
		rest->at = NULL;
		rest->len = 0;
	} else {
		rest->at = end + 1;
		rest->len -= out->len + 1;
	}
	*out = header_span_trim(*out);
	return true;
}

int header_span_q(struct header_span s)
{
	int scale = 100;
	int q = 0;

	if (s.len == 0 || *s.at != '0') {
		return ACCEPT_Q_ONE;
	}
	for (size_t i = 2; i < s.len && scale > 0; i++, scale /= 10) {
		if (s.at[i] < '0' || s.at[i] > '9') {
			return ACCEPT_Q_ONE;
		}
		q += (s.at[i] - '0') * scale;
	}
	return q;
}

/* How well a range names the value: 0 not at all, 3 exactly. */
static int fit_of(struct header_span range, const char *value)
{
	const char *slash = strchr(value, '/');
	size_t len = slash == NULL ? 0 : (size_t)(slash - value) + 1;

	if (header_span_is(range, value)) {
		return 3;
	}
	if (slash != NULL && range.len == len + 1 &&
		strncasecmp(range.at, value, len) == 0 &&
		range.at[len] == '*') {
		return 2;
	}
	return header_span_is(range, slash == NULL ? "*" : "*/*");
}

static int q_of(struct header_span parameters)
{
	struct header_span text, name;
	int q = ACCEPT_Q_ONE;

	while (header_span_next(&text, &parameters, ';')) {
		if (header_span_next(&name, &text, '=') && text.at != NULL &&
			header_span_is(name, "q")) {
			q = header_span_q(header_span_trim(text));
		}
	}
	return q;
}

int accept_header_q(const char *header, const char *value)
{
	struct header_span rest = header_span_of(header);
	struct header_span item, range;
	int best = 0;
	int q = 0;

	while (header_span_next(&item, &rest, ',')) {
		int fit = header_span_next(&range, &item, ';')
			? fit_of(range, value)
			: 0;

		if (fit > best) {
			best = fit;
			q = q_of(item);
		}
	}
	return q;
}

bool accept_header_prefers_html(const char *header)
{
	return accept_header_q(header, "text/html") >
		accept_header_q(header, "application/json");
}

/* The plain text, "identity", is preferred only by a header that names it. */
bool accept_header_takes_gzip(const char *header)
{
	int q = accept_header_q(header, "gzip");
	struct header_span rest = header_span_of(header);
	struct header_span item, range;

	while (header_span_next(&item, &rest, ',')) {
		if (header_span_next(&range, &item, ';') &&
			header_span_is(range, "identity") && q_of(item) > q) {
			return false;
		}
	}
	return q > 0;
}
