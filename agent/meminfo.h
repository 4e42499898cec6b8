/* Memory of a node: /proc/meminfo. */
#pragma once

#include "agent/kernel_file.h"
#include "lib/error.h"
#include "proto/report.h"

/* Reads /proc/meminfo's text; pure. Lines that are not there leave their value
 * unknown, but without MemTotal it is none. -EBADMSG. */
must_check int meminfo_parse(struct memory *out, const char *text,
	struct error *err);

/* Reads the file. err is set only if out->state becomes error. */
void meminfo_read(struct memory *out, struct kept_file *file,
	struct error *err);
