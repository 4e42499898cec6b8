/* metav1.Time and metav1.MicroTime of Kubernetes. */
#pragma once

#include "lib/error.h"

#include <stdint.h>

/* Before any event: an unknown time in the past. */
#define TIME_LONG_AGO (INT64_MIN / 4)

/* Converts RFC 3339, such as "2026-11-20T10:46:52Z", also with a fraction or an
 * offset, to microseconds since 1970. -EBADMSG: not RFC 3339. */
must_check int time_parse(int64_t *wall_us, const char *text,
	struct error *err);
