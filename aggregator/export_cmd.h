/* `plimsoll-aggregator export`: a cluster's past as JSON. */
#pragma once

#include "aggregator/config.h"
#include "lib/error.h"

#include <stdio.h>

/* Reads config->db, which an aggregator may be using, and prints to out. A time
 * that is not given is the end of the last whole minute before now, and a day
 * before the end. -EINVAL: the times or the step; else store_past_read()'s and
 * export_add()'s; nothing was printed. */
must_check int export_command(const struct export_config *config, FILE *out,
	struct error *err);
