/* The load average: /proc/loadavg. For people; nothing is placed by it. */
#pragma once

#include "agent/kernel_file.h"
#include "lib/error.h"
#include "proto/report.h"

/* Reads the file's text into out->load1, load5 and load15; pure.
 * -EBADMSG: not the kernel's format; out is untouched. */
must_check int loadavg_parse(struct report *out, const char *text,
	struct error *err);

/* Reads the file. A file that is not there leaves the loads unknown; err is
 * set if it cannot be read or understood. */
void loadavg_read(struct report *out, struct kept_file *file,
	struct error *err);
