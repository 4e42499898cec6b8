#include "scheduler/forecast/announcement.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "scheduler/forecast/forecast.h"

enum { MINUTE_S = 60, HOUR_S = 3600, DAY_S = 86400 };

static void skip_spaces(const char **at)
{
	*at += strspn(*at, " \t");
}

static bool skip_word(const char **at, const char *word)
{
	size_t length = strlen(word);

	skip_spaces(at);
	if (strncmp(*at, word, length) != 0) {
		return false;
	}
	*at += length;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Decimal, above 0 and at most FORECAST_VCPUS_MAX. */
static bool read_cores(const char **at, double *out)
{
	double cores = 0;
	double scale = 1;

	skip_spaces(at);
	if (!is_digit(**at)) {
		return false;
	}
	for (; is_digit(**at); (*at)++) {
		cores = cores * 10 + (**at - '0');
	}
	if (**at == '.') {
		(*at)++;
		for (; is_digit(**at); (*at)++) {
			scale /= 10;
			cores += scale * (**at - '0');
		}
	}
	*out = cores;
	return cores > 0 && cores <= FORECAST_VCPUS_MAX;
}

/* HH:MM, up to 24:00. */
static bool read_time(const char **at, uint32_t *out_s)
{
	const char *t = *at;
	int hours, minutes;

	skip_spaces(&t);
	if (!is_digit(t[0]) || !is_digit(t[1]) || t[2] != ':' ||
		!is_digit(t[3]) || !is_digit(t[4])) {
		return false;
	}
	hours = (t[0] - '0') * 10 + t[1] - '0';
	minutes = (t[3] - '0') * 10 + t[4] - '0';
	*at = t + 5;
	*out_s = (uint32_t)(hours * HOUR_S + minutes * MINUTE_S);
	return minutes < 60 && *out_s <= DAY_S;
}

static int read_span(struct announcement_span *span, const char **at,
	struct error *err)
{
	uint32_t to_s = 0;

	*span = (struct announcement_span){ .length_s = DAY_S };
	if (!read_cores(at, &span->cores)) {
		return error_set(err, -EINVAL,
			"a number of cores above 0 is expected at '%.20s'",
			*at);
	}
	if (!skip_word(at, "from")) {
		return 0;
	}
	if (!read_time(at, &span->from_s) || !skip_word(at, "to") ||
		!read_time(at, &to_s)) {
		return error_set(err, -EINVAL,
			"'from HH:MM to HH:MM' is expected before '%.20s'",
			*at);
	}
	span->from_s %= DAY_S;
	span->length_s = (to_s + DAY_S - span->from_s) % DAY_S;
	if (span->length_s == 0) {
		span->length_s = DAY_S;
	}
	return 0;
}

int announcement_parse(struct announcement *out, const char *text,
	struct error *err)
{
	struct announcement read = { 0 };
	const char *at = text;
	int r;

	if (strlen(text) > ANNOUNCEMENT_TEXT_MAX) {
		return error_set(err, -E2BIG, "more than %d characters",
			ANNOUNCEMENT_TEXT_MAX);
	}
	do {
		if (read.count == ANNOUNCEMENT_SPANS_MAX) {
			return error_set(err, -E2BIG, "more than %d parts",
				ANNOUNCEMENT_SPANS_MAX);
		}
		r = read_span(&read.spans[read.count++], &at, err);
		if (r < 0) {
			return r;
		}
	} while (skip_word(&at, ","));
	if (*at != '\0') {
		return error_set(err, -EINVAL,
			"a comma or the end is expected at '%.20s'", at);
	}
	*out = read;
	return 0;
}

static bool is_near(const struct announcement_span *span, int64_t day_s)
{
	int64_t start_s = (int64_t)span->from_s - ANNOUNCEMENT_HORIZON_S;
	int64_t since_s = (day_s - start_s + DAY_S) % DAY_S;

	return since_s < (int64_t)span->length_s + ANNOUNCEMENT_HORIZON_S;
}

double announcement_cores(const struct announcement *announcement,
	int64_t wall_us)
{
	const int64_t second_us = 1000000;
	int64_t day_s = wall_us / second_us % DAY_S;
	double cores = 0;

	if (announcement == NULL) {
		return 0;
	}
	day_s = day_s < 0 ? day_s + DAY_S : day_s;
	for (size_t i = 0; i < announcement->count; i++) {
		const struct announcement_span *span = &announcement->spans[i];

		if (span->cores > cores && is_near(span, day_s)) {
			cores = span->cores;
		}
	}
	return cores;
}
