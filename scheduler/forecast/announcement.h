/* The use that a VM announces: the annotation plimsoll.io/expected-cores, such
 * as "6 from 18:00 to 23:00, 2".
 *
 * It is a list of CORES [from HH:MM to HH:MM]. Times are UTC and of every day;
 * a span may cross midnight, and one with equal times lasts the whole day. An
 * announcement raises a forecast and never lowers it. Pure. */
#pragma once

#include "lib/error.h"

#include <stddef.h>
#include <stdint.h>

#define ANNOUNCEMENT_KEY "plimsoll.io/expected-cores"

/* A span for each two hours of a day is more than people maintain. */
enum { ANNOUNCEMENT_SPANS_MAX = 12, ANNOUNCEMENT_TEXT_MAX = 512 };

/* An announcement counts from this long before it starts: forecasts are for the
 * next hour. */
#define ANNOUNCEMENT_HORIZON_S 3600

struct announcement_span {
	double cores;
	uint32_t from_s; /* of the day */
	uint32_t length_s;
};

struct announcement {
	struct announcement_span spans[ANNOUNCEMENT_SPANS_MAX];
	size_t count;
};

/* -EINVAL: the sentence says what is wrong. -E2BIG: too long. */
must_check int announcement_parse(struct announcement *out, const char *text,
	struct error *err);

/* The largest number of cores that is announced for the hour after this unix
 * time; 0: none. Any time is fine. NULL announces nothing. */
double announcement_cores(const struct announcement *announcement,
	int64_t wall_us);
