#include "agent/scan.h"

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

/* Every whole number up to here is exact as a double. */
static const uint64_t exact_max = UINT64_C(1) << 53;

/* Appends the digits after the point; *unit grows by 10 for each. */
static void scan_fraction(struct scan *s, uint64_t *digits, double *unit)
{
	for (; is_digit(*s->at); s->at++) {
		if (*digits < exact_max / 10) {
			*digits = *digits * 10 + (uint64_t)(*s->at - '0');
			*unit *= 10;
		}
	}
}

bool scan_decimal(struct scan *s, double *out)
{
	struct scan ahead = *s;
	uint64_t digits;
	double unit = 1;

	if (!scan_u64(&ahead, &digits)) {
		return false;
	}
	if (scan_text(&ahead, ".")) {
		if (!is_digit(*ahead.at)) {
			return false;
		}
		scan_fraction(&ahead, &digits, &unit);
	}
	*s = ahead;
	/* One rounding gives the double that is nearest to the text. */
	*out = (double)digits / unit;
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
