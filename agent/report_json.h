/* A report as JSON for people: `plimsoll-agent --once`. The names are those of
 * proto/report.h, states are words, and what is not known is left out. */
#pragma once

#include "lib/buffer.h"
#include "proto/report.h"

/* Appends one object to out, without a newline. */
void report_json_write(struct buffer *out, const char *node,
	const struct report *report);
