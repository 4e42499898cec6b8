#include "kube/time.h"

#include "lib/decimal.h"

#include <errno.h>
#include <time.h>

static const int64_t second_us = 1000000;

/* Year 9999, the last that RFC 3339 writes. */
static const uint64_t seconds_max = 253402300799;

/* Reads count digits. */
static bool read_digits(int *value, const char **at, int count)
{
	int sum = 0;

	for (int i = 0; i < count; i++) {
		char c = (*at)[i];

		if (c < '0' || c > '9') {
			return false;
		}
		sum = sum * 10 + (c - '0');
	}
	*value = sum;
	*at += count;
	return true;
}

static bool read_char(const char **at, char c)
{
	if (**at != c) {
		return false;
	}
	(*at)++;
	return true;
}

/* ".25" to 250000. Digits after the sixth are ignored; "." is an error. */
static bool read_fraction(int64_t *us, const char **at)
{
	int64_t unit = second_us;
	const char *first;

	*us = 0;
	if (!read_char(at, '.')) {
		return true;
	}
	first = *at;
	while (**at >= '0' && **at <= '9') {
		unit /= 10;
		*us += unit * (**at - '0');
		(*at)++;
	}
	return *at > first;
}

/* "Z" or "+02:00", to minutes east of UTC. */
static bool read_zone(int *minutes, const char **at)
{
	int sign = **at == '-' ? -1 : 1;
	int hour, minute;

	*minutes = 0;
	if (read_char(at, 'Z') || read_char(at, 'z')) {
		return true;
	}
	/* A '+' that is not encoded as %2B is decoded as a space. */
	if (!read_char(at, '+') && !read_char(at, '-') && !read_char(at, ' ')) {
		return false;
	}
	if (!read_digits(&hour, at, 2) || !read_char(at, ':') ||
		!read_digits(&minute, at, 2) || hour > 23 || minute > 59) {
		return false;
	}
	*minutes = sign * (hour * 60 + minute);
	return true;
}

static bool read_date(struct tm *tm, const char **at)
{
	if (!read_digits(&tm->tm_year, at, 4) || !read_char(at, '-') ||
		!read_digits(&tm->tm_mon, at, 2) || !read_char(at, '-') ||
		!read_digits(&tm->tm_mday, at, 2)) {
		return false;
	}
	tm->tm_year -= 1900;
	tm->tm_mon -= 1;
	return tm->tm_mon >= 0 && tm->tm_mon < 12 && tm->tm_mday >= 1 &&
		tm->tm_mday <= 31;
}

static bool read_clock(struct tm *tm, const char **at)
{
	return read_digits(&tm->tm_hour, at, 2) && read_char(at, ':') &&
		read_digits(&tm->tm_min, at, 2) && read_char(at, ':') &&
		read_digits(&tm->tm_sec, at, 2) && tm->tm_hour < 24 &&
		tm->tm_min < 60 && tm->tm_sec <= 60; /* a leap second */
}

static bool read_time(int64_t *wall_us, const char *text)
{
	const char *at = text;
	struct tm tm = { 0 };
	int64_t fraction_us, seconds;
	int day, minutes, leap;

	if (!read_date(&tm, &at) || (*at != 'T' && *at != 't' && *at != ' ')) {
		return false;
	}
	at++;
	if (!read_clock(&tm, &at) || !read_fraction(&fraction_us, &at) ||
		!read_zone(&minutes, &at) || *at != '\0') {
		return false;
	}
	leap = tm.tm_sec == 60 ? 1 : 0;
	tm.tm_sec -= leap;
	day = tm.tm_mday;
	seconds = timegm(&tm) + leap - (int64_t)minutes * 60;
	*wall_us = seconds * second_us + fraction_us;
	/* timegm() turns February 30 into March 2. */
	return tm.tm_mday == day;
}

int time_parse(int64_t *wall_us, const char *text, struct error *err)
{
	int64_t read_us;

	if (!read_time(&read_us, text)) {
		return error_set(err, -EBADMSG,
			"'%.40s' is not a time such as 2026-11-20T10:46:52Z",
			text);
	}
	*wall_us = read_us;
	return 0;
}

bool time_parse_seconds(uint64_t *us, const char *text)
{
	const char *at = text;
	uint64_t seconds;
	int64_t fraction_us;

	if (!decimal_parse(&seconds, &at, seconds_max) ||
		!read_fraction(&fraction_us, &at) || *at != '\0') {
		return false;
	}
	*us = (seconds * (uint64_t)second_us) + (uint64_t)fraction_us;
	return true;
}
