/* A report as JSON for people: `plimsoll-agent --once`. The keys are the names
 * of proto/report_fields.h, states are words, and unknown values are left
 * out. */
#pragma once

#include "lib/buffer.h"
#include "proto/report.h"

/* Appends one object to out, without a newline. */
void report_json_write(struct buffer *out, const char *node,
	const struct report *report);
