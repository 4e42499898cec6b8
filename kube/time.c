#include "kube/time.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "12" to 12; -1: not two digits. */
static int two_digits(const char *at)
{
	if (!is_digit(at[0]) || !is_digit(at[1])) {
		return -1;
	}
	return (at[0] - '0') * 10 + (at[1] - '0');
}

/* ".678901" to microseconds; further digits are dropped. Returns the rest of
 * the text; NULL: no digit after the point. */
static const char *scan_fraction(int64_t *us, const char *at)
{
	int64_t digit_us = 100000;

	*us = 0;
	if (*at != '.') {
		return at;
	}
	at++;
	if (!is_digit(*at)) {
		return NULL;
	}
	for (; is_digit(*at); at++) {
		*us += (*at - '0') * digit_us;
		digit_us /= 10;
	}
	return at;
}

/* "Z" or "+01:00", to the end, in seconds east of UTC. */
static bool scan_zone(int64_t *east_s, const char *at)
{
	int hours;
	int minutes;

	if ((*at == 'Z' || *at == 'z') && at[1] == '\0') {
		*east_s = 0;
		return true;
	}
	if (*at != '+' && *at != '-') {
		return false;
	}
	hours = two_digits(at + 1);
	if (hours < 0 || at[3] != ':') {
		return false;
	}
	minutes = two_digits(at + 4);
	if (hours > 23 || minutes < 0 || minutes > 59 || at[6] != '\0') {
		return false;
	}
	*east_s = (INT64_C(60) * hours + minutes) * 60;
	*east_s = *at == '-' ? -*east_s : *east_s;
	return true;
}

int time_parse(int64_t *wall_us, const char *text, struct error *err)
{
	struct tm tm = { 0 };
	int64_t us = 0;
	int64_t east_s = 0;
	const char *at = NULL;

	if (is_digit(*text)) {
		at = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	}
	if (at != NULL) {
		at = scan_fraction(&us, at);
	}
	if (at == NULL || !scan_zone(&east_s, at)) {
		return error_set(err, -EBADMSG,
			"'%.40s' is not a time such as 2026-11-20T10:46:52Z",
			text);
	}
	*wall_us = ((int64_t)timegm(&tm) - east_s) * 1000000 + us;
	return 0;
}
