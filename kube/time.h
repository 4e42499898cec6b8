/* Times as text: metav1.Time and metav1.MicroTime of Kubernetes, and unix
 * seconds. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Before any event: an unknown time in the past. */
#define TIME_LONG_AGO (INT64_MIN / 4)

/* Converts RFC 3339, such as "2026-11-20T10:46:52Z", also with a fraction or an
 * offset, to microseconds since 1970. The plus of an offset may be a space, as
 * an URL's decoder makes of it. -EBADMSG: not RFC 3339. */
must_check int time_parse(int64_t *wall_us, const char *text,
	struct error *err);

/* Converts unix seconds up to the year 9999, such as "1795171612.25", to
 * microseconds. Further decimals than six are dropped. False: not that. */
bool time_parse_seconds(uint64_t *us, const char *text);
