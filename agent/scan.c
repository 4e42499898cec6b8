#include "agent/scan.h"

#include <stdlib.h>
#include <string.h>

bool scan_text(struct scan *s, const char *text)
{
	size_t len = strlen(text);

	if (strncmp(s->at, text, len) != 0) {
		return false;
	}
	s->at += len;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool scan_u64(struct scan *s, uint64_t *out)
{
	const char *at = s->at;
	uint64_t value = 0;

	if (!is_digit(*at)) {
		return false;
	}
	for (; is_digit(*at); at++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*at - '0'),
				&value)) {
			return false;
		}
	}
	s->at = at;
	*out = value;
	return true;
}

/* strtod(3) also accepts signs, exponents and hexadecimal numbers. */
bool scan_decimal(struct scan *s, double *out)
{
	size_t len = strspn(s->at, "0123456789.");
	char *end;
	double value = strtod(s->at, &end);

	if (!is_digit(*s->at) || end != s->at + len || end[-1] == '.') {
		return false;
	}
	s->at = end;
	*out = value;
	return true;
}

void scan_blanks(struct scan *s)
{
	s->at += strspn(s->at, " \t");
}

void scan_word(struct scan *s)
{
	s->at += strcspn(s->at, " \t\n");
}

void scan_line(struct scan *s)
{
	s->at = strchrnul(s->at, '\n');
	if (*s->at == '\n') {
		s->at++;
	}
}

bool scan_end(const struct scan *s)
{
	return *s->at == '\0';
}

/* White space must follow: otherwise the number may be cut. */
static bool scan_value(struct scan *s, uint64_t *out)
{
	struct scan ahead = *s;
	uint64_t value;

	if (!scan_u64(&ahead, &value) || strchr(" \t\n", *ahead.at) == NULL) {
		return false;
	}
	*s = ahead;
	*out = value;
	return true;
}

static bool scan_field_line(struct scan *s, const struct scan_field *fields,
	size_t count)
{
	const char *key = s->at;
	size_t len;

	scan_word(s);
	len = (size_t)(s->at - key);
	scan_blanks(s);
	for (size_t i = 0; i < count; i++) {
		if (strncmp(fields[i].key, key, len) == 0 &&
			fields[i].key[len] == '\0') {
			return scan_value(s, fields[i].value);
		}
	}
	return false;
}

size_t scan_keyed(const char *text, const struct scan_field *fields,
	size_t count)
{
	struct scan s = { .at = text };
	size_t found = 0;

	while (!scan_end(&s) && found < count) {
		found += scan_field_line(&s, fields, count) ? 1 : 0;
		scan_line(&s);
	}
	return found;
}

bool scan_single(const char *text, uint64_t *out)
{
	struct scan s = { .at = text };
	uint64_t value;

	if (!scan_value(&s, &value) || s.at[strspn(s.at, " \t\n")] != '\0') {
		return false;
	}
	*out = value;
	return true;
}
