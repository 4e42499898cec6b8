/* The load average: /proc/loadavg. For people; no decision uses it. */
#pragma once

#include "agent/kernel_file.h"
#include "lib/error.h"
#include "proto/report.h"

/* Parses the text into out->load1, load5 and load15; pure.
 * -EBADMSG: not the kernel's format; out is untouched. */
must_check int loadavg_parse(struct report *out, const char *text,
	struct error *err);

/* Reads the file. Without the file the loads stay unknown; err is set if the
 * file cannot be read or parsed. */
void loadavg_read(struct report *out, struct kernel_file *file,
	struct error *err);
