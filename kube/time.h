/* Times as Kubernetes writes them. */
#pragma once

#include "lib/error.h"

#include <stdint.h>

/* Before anything that happened: "long ago, nobody knows when". */
#define MOMENT_LONG_AGO (INT64_MIN / 4)

/* RFC 3339 ("2026-11-20T10:46:52Z", fractions and offsets too) to
 * microseconds since 1970. -EBADMSG: it is not. */
must_check int moment_parse(int64_t *wall_us, const char *text,
	struct error *err);
