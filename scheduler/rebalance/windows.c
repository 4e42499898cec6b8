#include "scheduler/rebalance/windows.h"

#include "lib/memory.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

enum { DAY_MINUTES = 24 * 60, PART_MAX = 64 };
#define MINUTE_US UINT64_C(60000000)

/* The first of January 1970 was a Thursday. */
enum { EPOCH_MINUTE = 3 * DAY_MINUTES };

static const char *const days[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat",
	"Sun" };

struct part {
	unsigned first_day, last_day;
	unsigned from, to; /* minutes of the day; equal: the whole day */
};

static void set_minutes(struct windows *windows, unsigned from, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned minute = (from + i) % WINDOWS_MINUTES;

		windows->minutes[minute / 8] |= (uint8_t)(1u << minute % 8);
	}
}

static bool is_set(const struct windows *windows, unsigned minute)
{
	return (windows->minutes[minute / 8] >> minute % 8 & 1) != 0;
}

static void skip_spaces(const char **at)
{
	while (**at == ' ') {
		(*at)++;
	}
}

static bool read_day(unsigned *out, const char **at)
{
	for (unsigned i = 0; i < count_of(days); i++) {
		if (strncasecmp(*at, days[i], 3) == 0) {
			*out = i;
			*at += 3;
			return true;
		}
	}
	return false;
}

static bool read_two_digits(unsigned *out, const char **at)
{
	const char *text = *at;

	if (!isdigit((unsigned char)text[0]) ||
		!isdigit((unsigned char)text[1])) {
		return false;
	}
	*out = (unsigned)(text[0] - '0') * 10 + (unsigned)(text[1] - '0');
	*at += 2;
	return true;
}

/* "05:00"; 24:00 is the end of a day. */
static bool read_time(unsigned *out, const char **at)
{
	unsigned hour, minute;

	if (!read_two_digits(&hour, at) || *(*at)++ != ':' ||
		!read_two_digits(&minute, at)) {
		return false;
	}
	*out = hour * 60 + minute;
	return minute < 60 && *out <= DAY_MINUTES;
}

static bool read_days(struct part *part, const char **at)
{
	if (!read_day(&part->first_day, at)) {
		return false;
	}
	part->last_day = part->first_day;
	if (**at == '-') {
		(*at)++;
		return read_day(&part->last_day, at);
	}
	return true;
}

static bool read_hours(struct part *part, const char **at)
{
	return read_time(&part->from, at) && *(*at)++ == '-' &&
		read_time(&part->to, at) && part->from < DAY_MINUTES &&
		part->from != part->to;
}

static bool read_part(struct part *part, const char *text)
{
	const char *at = text;

	*part = (struct part){ 0 };
	skip_spaces(&at);
	if (!read_days(part, &at)) {
		return false;
	}
	skip_spaces(&at);
	if (*at != '\0' && !read_hours(part, &at)) {
		return false;
	}
	skip_spaces(&at);
	return *at == '\0';
}

static void add_part(struct windows *windows, const struct part *part)
{
	unsigned count = part->to > part->from
		? part->to - part->from
		: DAY_MINUTES - part->from + part->to;
	unsigned day = part->first_day;

	for (;;) {
		set_minutes(windows, day * DAY_MINUTES + part->from, count);
		if (day == part->last_day) {
			return;
		}
		day = (day + 1) % (unsigned)count_of(days);
	}
}

int windows_parse(struct windows *out, const char *text, struct error *err)
{
	struct windows windows = { 0 };
	const char *at = text;

	if (*text == '\0') {
		(void)memset(out->minutes, 0xff, sizeof(out->minutes));
		return 0;
	}
	for (;;) {
		size_t len = strcspn(at, ",");
		struct part part;
		char copy[PART_MAX + 1] = "";

		(void)memcpy(copy, at, len < PART_MAX ? len : PART_MAX);
		if (len >= PART_MAX || !read_part(&part, copy)) {
			return error_set(err, -EINVAL,
				"'%s' is no time of the week, such as "
				"'Sat' or 'Mon-Fri 22:00-05:00'",
				copy);
		}
		add_part(&windows, &part);
		if (at[len] == '\0') {
			break;
		}
		at += len + 1;
	}
	*out = windows;
	return 0;
}

static unsigned minute_of(uint64_t wall_us)
{
	return (unsigned)((wall_us / MINUTE_US + EPOCH_MINUTE) %
		WINDOWS_MINUTES);
}

bool windows_is_open(const struct windows *windows, uint64_t wall_us)
{
	return is_set(windows, minute_of(wall_us));
}

uint64_t windows_next_us(const struct windows *windows, uint64_t wall_us)
{
	unsigned minute = minute_of(wall_us);

	for (unsigned i = 0; i < WINDOWS_MINUTES; i++) {
		if (is_set(windows, (minute + i) % WINDOWS_MINUTES)) {
			return i == 0 ? wall_us
				      : (wall_us / MINUTE_US + i) * MINUTE_US;
		}
	}
	return 0;
}
